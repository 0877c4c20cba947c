"""The list of hosts: what it lets through by name, and which addresses are nobody's business."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.hosts import allows, entry, is_open, plain_host

LIST = tuple(
    map(
        entry,
        (
            "example.com",
            "*.github.com",
            "api.test:8443",
            "any.test:*",
            "10.1.2.3",
            "192.168.7.0/24:5432",
            "[::1]:9000",
        ),
    )
)


@pytest.mark.parametrize(
    ("host", "port", "is_let_through"),
    [
        ("example.com", 443, True),
        ("example.com", 80, True),
        ("example.com", 8080, False),
        ("www.example.com", 443, False),
        ("example.com.evil.test", 443, False),
        ("notexample.com", 443, False),
        ("api.github.com", 443, True),
        ("a.b.github.com", 443, True),
        ("github.com", 443, False),
        ("evilgithub.com", 443, False),
        ("api.test", 8443, True),
        ("api.test", 443, False),
        ("any.test", 1, True),
        ("10.1.2.3", 443, True),
        ("10.1.2.4", 443, False),
        ("192.168.7.9", 5432, True),
        ("192.168.7.9", 443, False),
        ("::1", 9000, True),
        ("::ffff:10.1.2.3", 443, True),
    ],
)
def test_a_host_is_let_through_by_its_entry_alone(host: str, port: int, is_let_through: bool) -> None:
    assert allows(LIST, host, port) is is_let_through


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "not an address",
    ],
)
def test_no_address_of_a_private_place_is_connected_to(address: str) -> None:
    assert not is_open(address, [entry("*")], 443)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:4700:4700::1111", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8"]
)
def test_addresses_of_the_open_internet_are(address: str) -> None:
    assert is_open(address, [entry("*")], 443)


def test_an_address_that_the_list_names_is_meant() -> None:
    assert [
        is_open(address, LIST, port)
        for address, port in (("10.1.2.3", 443), ("192.168.7.1", 5432), ("192.168.7.1", 80), ("::1", 9000))
    ] == [
        True,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "1.2.3",
        "127.0.0.1.",
        "a b",
        "a/b",
        "",
        "a..b",
        "-a.test",
        "a\r\nb",
        "@",
    ],
)
def test_other_spellings_of_an_address_and_what_is_no_name_are_refused(host: str) -> None:
    if host == "127.0.0.1.":
        assert plain_host(host) == "127.0.0.1"  # it is judged as what it is
        return
    with pytest.raises(ValueError, match="neither a host name nor an address"):
        plain_host(host)


def test_a_name_is_compared_in_one_form() -> None:
    assert [plain_host(host) for host in ("EXAMPLE.com.", "bücher.test", "[::1]", "[2001:DB8::1]")] == [
        "example.com",
        "xn--bcher-kva.test",
        "::1",
        "2001:db8::1",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "http://example.com",
        "example.com/path",
        "a b",
        "",
        "*.*.com",
        "exa*mple.com",
        "host:port",
        "1.2.3",
        "0x7f.1",
    ],
)
def test_an_entry_that_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        entry(text)


@given(st.ip_addresses())
def test_the_open_internet_has_no_private_address(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if is_open(str(address), [entry("*")], 443):
        assert not (address.is_private and not getattr(address, "ipv4_mapped", None))
        assert not (address.is_loopback)
        assert not (address.is_multicast)
        assert not (address.is_link_local)
        assert not (address.is_unspecified)


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_as_what_it_carries(address: ipaddress.IPv4Address) -> None:
    whole = [entry("*")]
    assert (
        is_open(f"::ffff:{address}", whole, 443)
        == is_open(str(address), whole, 443)
        == is_open(f"64:ff9b::{address}", whole, 443)
    )


@pytest.mark.parametrize(
    ("listed", "asked", "is_covered"),
    [
        ("example.org", "example.org", True),
        ("example.org", "example.org:443", True),
        ("example.org", "example.org:8443", False),
        ("example.org:*", "example.org:8443", True),
        ("registry.test:5000", "registry.test:5000", True),
        ("registry.test:5000", "registry.test", False),
        ("*.github.com", "api.github.com", True),
        ("*.github.com", "*.api.github.com", True),
        ("*.github.com", "github.com", False),
        ("api.github.com", "*.github.com", False),
        ("*", "example.org", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.1.0.0/16", "10.0.0.0/8", False),
        ("10.0.0.0/8", "::1", False),
        ("*", "10.1.2.3", False),
    ],
)
def test_a_line_covers_what_all_of_another_means(listed: str, asked: str, *, is_covered: bool) -> None:
    assert entry(listed).covers(entry(asked)) is is_covered
