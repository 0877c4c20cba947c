"""What of the user's environment commands get: what is listed and holds no credential."""

import re

from hypothesis import given
from hypothesis import strategies as st

from hermes.environments.child_env import child_environment, groups

LISTED = sorted(
    {name for one in groups() if not one.withheld for name in one.names if not name.endswith("*")}
)
words = st.text("abcdefghijklmnopqrstuvwxyzABCDEF0123456789-._~/ :@?&%=,+", max_size=30)
# What is shorter, or a plain word, hides nothing that cannot be guessed.
secrets = st.from_regex(r"[A-Za-z0-9+/@:,.=_-]{12,40}", fullmatch=True).filter(
    lambda text: any(map(str.isdigit, text))
)


def test_what_is_listed_passes_and_all_else_stays_out_with_its_reason() -> None:
    found = child_environment(
        {
            "PATH": "/bin",
            "LC_ALL": "C",
            "CFLAGS": "-O2",
            "AWS_PROFILE": "stage",
            "SSH_AUTH_SOCK": "/run/agent",
            "AWS_SECRET_ACCESS_KEY": "x",
            "A_TOKEN": "x",
            "CONDA_TOKEN": "x",
            "BASH_ENV": "x",
            "LD_PRELOAD": "x",
            "NODE_OPTIONS": "x",
            "GIT_SSH_COMMAND": "x",
            "DISPLAY": ":0",
            "DBUS_SESSION_BUS_ADDRESS": "x",
            "GIT_DIR": "x",
            "GITHUB_ENV": "x",
            "HERMES_YOLO": "1",
            "BASH_FUNC_f%%": "() { :; }",
            "PWD": "/",
            "B_KEY": "fine",
        }
    )
    assert found.given == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "CFLAGS": "-O2",
        "AWS_PROFILE": "stage",
        "SSH_AUTH_SOCK": "/run/agent",
    }
    assert found.left == {
        **dict.fromkeys(("AWS_SECRET_ACCESS_KEY", "A_TOKEN", "CONDA_TOKEN"), "credentials"),
        **dict.fromkeys(("BASH_ENV", "LD_PRELOAD", "NODE_OPTIONS", "GIT_SSH_COMMAND"), "run code unasked"),
        **dict.fromkeys(("DISPLAY", "DBUS_SESSION_BUS_ADDRESS"), "reach your desktop"),
        "GIT_DIR": "point git elsewhere",
        "GITHUB_ENV": "steer the build service",
        "HERMES_YOLO": "our own",
        "BASH_FUNC_f%%": "our own",
        "B_KEY": "not on the list",
    }


def test_a_name_that_is_let_through_passes_whatever_it_holds_a_pattern_lets_no_credential_through() -> None:
    environ = {
        "A_TOKEN": "abcdefgh-12345",
        "MY_HOST": "x",
        "MY_TOKEN": "y",
        "MY_COPY": "abcdefgh-12345",
        "LD_PRELOAD": "x",
        "HERMES_A": "1",
    }
    assert child_environment(environ, ["A_TOKEN", "MY_*"]).given == {
        "A_TOKEN": "abcdefgh-12345",
        "MY_HOST": "x",
    }
    assert child_environment(environ, ["*"]).given == {"MY_HOST": "x"}
    assert child_environment(environ, ["LD_PRELOAD", "HERMES_A"]).given == {
        "LD_PRELOAD": "x",
        "HERMES_A": "1",
    }


def test_addresses_pass_without_the_login_in_them_or_not_at_all() -> None:
    found = child_environment(
        {
            "https_proxy": "http://user:pa:ss@word@proxy.example:3128/",
            "ALL_PROXY": "user:word@proxy.example:1080",
            "no_proxy": "localhost,10.0.0.0/8",
            "PIP_INDEX_URL": "https://token@index.example/simple",
            "http_proxy": "http://user:pass/word@proxy.example:3128",
            "PIP_EXTRA_INDEX_URL": "https://a:b@one.example/ https://two.example/",
            "GOPROXY": "https://proxy.example,direct",
            "VAULT_ADDR": "https://user:word@vault.example",
        }
    )
    assert found.given == {
        "https_proxy": "http://proxy.example:3128/",
        "ALL_PROXY": "proxy.example:1080",
        "no_proxy": "localhost,10.0.0.0/8",
        "PIP_INDEX_URL": "https://index.example/simple",
        "GOPROXY": "https://proxy.example,direct",
    }
    assert found.left == dict.fromkeys(("http_proxy", "PIP_EXTRA_INDEX_URL", "VAULT_ADDR"), "credentials")


def test_what_the_caller_knows_as_a_secret_stays_out() -> None:
    found = child_environment(
        {"CFLAGS": "-Dkey=known", "PATH": "/bin"}, is_secret=lambda text: "known" in text
    )
    assert (found.given, found.left) == ({"PATH": "/bin"}, {"CFLAGS": "credentials"})


@given(secret=secrets, before=words, after=words, name=st.sampled_from(LISTED))
def test_a_secret_of_the_environment_is_in_no_value_that_passes(
    secret: str, before: str, after: str, name: str
) -> None:
    environ = {
        "THE_PASSWORD": secret,
        name: f"{before}{secret}{after}",
        "PIP_PROXY": f"http://user:{secret}@{after}",
    }
    assert [value for value in child_environment(environ).given.values() if secret in value] == []


@given(user=secrets, word=secrets, name=st.sampled_from(LISTED), path=words)
def test_no_address_passes_with_a_login_in_it(user: str, word: str, name: str, path: str) -> None:
    passed = child_environment({name: f"https://{user}:{word}@host.example/{path}"}).given
    assert [value for value in passed.values() if word in value and word not in path] == []


@given(st.dictionaries(st.text(min_size=1, max_size=12), words, max_size=8))
def test_every_variable_passes_unless_it_is_named_as_left_out(environ: dict[str, str]) -> None:
    found = child_environment(environ, ["*"])
    assert found.given.keys() | found.left.keys() | {"PWD", "OLDPWD", "SHLVL", "_"} >= environ.keys()
    assert found.given.keys() & found.left.keys() == set()


def test_no_name_is_in_two_groups_and_the_longest_that_fits_decides() -> None:
    names = [name for one in groups() for name in one.names]
    assert len(names) == len(set(names))
    assert all(
        re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*\*?", name) and one.why for one in groups() for name in one.names
    )
    environ = dict.fromkeys(("NIX_PATH", "NIX_CONFIG", "NIX_LD_LIBRARY_PATH", "NIX_L"), "x")
    assert child_environment(environ).left == dict.fromkeys(
        ("NIX_CONFIG", "NIX_LD_LIBRARY_PATH"), "run code unasked"
    )
