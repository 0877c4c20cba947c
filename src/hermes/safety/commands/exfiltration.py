"""What a network program would send to another machine: data in its words, its input, or its method."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from hermes.lib.secretnames import is_secret_name
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.options import has_option, operands, option_values
from hermes.safety.commands.rules import Finding, table
from hermes.safety.commands.script import Simple

DOWNLOADERS: Final = frozenset(
    {"curl", "wget", "wget2", "aria2c", "http", "https", "xh", "fetch", "iwr", "invoke-webrequest", "irm"}
    | {"lynx", "nc"}
)
CARRIERS: Final = DOWNLOADERS | frozenset(
    {"ncat", "netcat", "socat", "telnet", "openssl", "dig", "nslookup", "host", "drill", "ping", "ping6"}
    | {"whois", "traceroute", "finger", "resolvectl", "delv", "kdig", "mtr", "tracepath"}
)
_STREAMS: Final = frozenset({"nc", "ncat", "netcat", "socat", "telnet", "openssl"})
_LOCAL: Final = re.compile(r"localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0|[\w-]+\.localhost")
_METHODS: Final = re.compile(r"(?i)post|put|patch|delete")
_BODIES: Final = (
    "-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--json", "-F",
    "--form", "--form-string",
    "-T", "--upload-file", "--post-data", "--post-file", "--body-data", "--body-file",
)  # fmt: skip
_INNER: Final = re.compile(r"\$\((.*)\)|`(.*)`", re.DOTALL)
_STARTS: Final = re.compile(r"(?:^|[;&(]|\$\(|`)\s*(?:\w+=\S*\s+)*([\w./-]+)")
_ENCODERS: Final = re.compile(r"\b(?:base64|base32|xxd|od|hexdump|gzip|bzip2|xz|zstd|tar|zip|openssl|gpg)\b")
_HARMLESS: Final = frozenset(
    {"date", "uname", "git", "pwd", "basename", "dirname", "nproc", "arch", "mktemp", "seq", "echo"}
    | {"printf", "expr", "jq", "curl", "wget"}
) | {
    "lsb_release",
    "sw_vers",
    "rustc",
    "dpkg",
    "node",
    "npm",
    "cargo",
    "go",
    "getconf",
    "uuidgen",
    "openssl-rand",
    "gh",
    "docker",
    "kubectl",
}
_VERSION: Final = re.compile(r"\s*cat\s+(?:\./)?(?:VERSION|version(?:\.txt)?|\.nvmrc|\.[\w-]+-version)\s*")


def sent(command: Simple) -> Iterator[Finding]:
    """Findings about what a command sends away."""
    asks_names = command.program == "getent" and command.argv[1:2] in {
        ("hosts",),
        ("ahosts",),
        ("ahostsv4",),
        ("ahostsv6",),
    }
    if not asks_names and (command.program not in CARRIERS or not is_remote(command)):
        return
    yield from _credentials(command)
    if _is_computed(command):
        yield Finding("computed-data", "upload", "what it sends is computed from files or from this machine")
    if command.program in _STREAMS and _has_input(command) and not has_option(command.argv[1:], "-z"):
        yield Finding("sent-input", "upload", "it sends its input to another machine")
    if _changes(command):
        yield Finding("remote-change", "upload", "it sends data to another machine")


def is_remote(command: Simple) -> bool:
    """Whether a network program reaches another machine, as far as its words tell."""
    hosts = hosts_of(command)
    return any(not _LOCAL.fullmatch(host) for host in hosts) or not hosts


def hosts_of(command: Simple) -> list[str]:
    """The hosts that a network program's words name."""
    words = operands(command.argv[1:], table().values.get(command.program, frozenset()))
    return [host for word in [*words, *option_values(command.argv[1:], "--url")] if (host := _host(word))]


def _host(word: str) -> str:
    """The host that a word names, or nothing."""
    if "://" in word:
        try:
            return (
                urlsplit(word[word.index("://") - 8 if word.index("://") > 8 else 0 :].strip()).hostname
                or UNKNOWN
            )
        except ValueError:
            return UNKNOWN
    found = re.match(
        r"(?:[^@/\s]*@)?([\w.-]+|\[[\da-fA-F:.]+\]|\x00)(?::\d+|:\x00)?(?:[/?]|$)",
        re.sub(r"^(?i:tcp\d?|udp\d?|ssl|openssl|-):", "", word),
    )
    if found is None or (found[1].isdecimal() and len(found[1]) < 6):
        return ""
    return (
        found[1]
        if _LOCAL.fullmatch(found[1]) or "." in found[1] or UNKNOWN in found[1] or "/" in word
        else ""
    )


def _credentials(command: Simple) -> Iterator[Finding]:
    """A credential variable sent to a host that has nothing to do with its name."""
    if command.program not in DOWNLOADERS:
        return
    hosts = [
        urlsplit(word).hostname or "" for word in command.argv[1:] if "://" in word and UNKNOWN not in word
    ]
    for name in re.findall(r"\$\{?(\w+)", command.line):
        owner = name.lower().split("_")[0]
        owner = {"gh": "github", "hf": "huggingface", "do": "digitalocean"}.get(owner, owner)
        if is_secret_name(name) and not (hosts and all(owner in host for host in hosts)):
            yield Finding(
                "credential-sent", "upload", f"it sends ${name} to a host that it may not belong to"
            )


def _is_computed(command: Simple) -> bool:
    """Whether a word is made of the output of a command that reads something of this machine."""
    if not any(UNKNOWN in word for word in command.argv):
        return False
    names = re.findall(r"\$\{?(\w+)", command.line)
    is_part = any(
        UNKNOWN in word and word.strip(UNKNOWN) for word in command.argv
    )  # an address that is read whole is only an address
    texts = [command.line, *(command.scope.made.get(name, "") for name in names if is_part)]
    return any(_reads(inner[1] or inner[2] or "") for text in texts for inner in _INNER.finditer(text))


def _reads(inner: str) -> bool:
    if _VERSION.fullmatch(inner):
        return False
    names = _STARTS.findall(re.sub(r"[\\'\"]", "", inner))
    return (
        not names
        or bool(_ENCODERS.search(inner))
        or any(name.rpartition("/")[2] not in _HARMLESS for name in names)
    )


def _has_input(command: Simple) -> bool:
    if command.program == "openssl" and "s_client" not in command.argv[1:2]:
        return False
    return bool(command.sources or set(command.reads) - {"/dev/null"} or command.text)


def _changes(command: Simple) -> bool:
    """Whether the request is one that sends or changes something."""
    words = command.argv[1:]
    if command.program in {"http", "https", "xh"}:
        given = operands(words)
        return any(_METHODS.fullmatch(word) for word in given[:1]) or any(
            re.match(r"[\w.-]+(?::?=(?!=)|@)", word) for word in given[1:]
        )
    if command.program not in {"curl", "wget", "wget2", "iwr", "invoke-webrequest", "irm", "fetch"}:
        return False
    methods = option_values(words, "-X", "--request", "--method", "-Method")
    if any(_METHODS.fullmatch(method) or UNKNOWN in method for method in methods):
        return True
    return (
        not methods and not has_option(words, "-G", "--get", "-I", "--head") and has_option(words, *_BODIES)
    )
