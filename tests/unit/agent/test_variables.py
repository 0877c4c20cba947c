"""What a session's commands get of the user's environment, with all that sessions know of credentials."""

from functools import partial

import pytest

from hermes.agent.tool_environment import holds_secret
from hermes.environments.child_env import child_environment
from hermes.lib.secretvalues import SecretValues
from hermes.safety.key_forms import Token, tokens

ORDINARY = {
    "PATH": "/nix/store/0c7c96gikmzv87i7lv3vq5s1cmfjd6zf-bash-5.2-p15/bin:/home/anna/.nvm/versions/node/v20.11.0/bin:/usr/bin",
    "HOME": "/home/anna.b-1984@corp.example",
    "LS_COLORS": "rs=0:di=01;34:ln=01;36:*.tar=01;31:*.key=00;32:*.pem=00;33",
    "GITHUB_SHA": "ffac537e6cbbf934b08745a378932722df287a53",
    "GITHUB_REF": "refs/heads/feature/token-refresh-2024",
    "CI_COMMIT_MESSAGE": "Fix token: parse ids; password=optional",
    "CI_COMMIT_AUTHOR": "Anna <anna@example.org>",
    "CFLAGS": '-O2 -g -DNAME="x y" -DAPI_VERSION=3 -fstack-protector-strong',
    "MAVEN_OPTS": "-Xmx2g -Djava.awt.headless=true",
    "NIX_CFLAGS_COMPILE": " -frandom-seed=0c7c96gikm -isystem /nix/store/0c7c96gikmzv87i7lv3vq5s1cmfjd6zf-x/include",
    "SSH_AUTH_SOCK": "/tmp/ssh-Kq3va1b2C3d4/agent.123456",
    "DOCKER_HOST": "ssh://anna@builder.example:22/run/docker.sock",
    "AZURE_SUBSCRIPTION_ID": "6f9619ff-8b86-d011-b42d-00c04fc964ff",
    "GOPROXY": "https://proxy.example,direct",
    "RUSTFLAGS": "-C target-cpu=native --cfg tokio_unstable",
    "LANG": "de_DE.UTF-8@euro",
    "KUBECONFIG": "/home/anna/.kube/stage:/home/anna/.kube/other",
}


def passed(environ: dict[str, str], *known: str) -> dict[str, str]:
    return child_environment(environ, (), partial(holds_secret, known=SecretValues(*known))).given


def test_ordinary_values_pass_as_they_are() -> None:
    assert passed(ORDINARY) == ORDINARY


@pytest.mark.parametrize("token", tokens(), ids=lambda token: token.maker)
def test_a_value_with_a_key_in_it_stays_out(token: Token) -> None:
    letters = {"hex": "a1", "upper": "A1", "digits": "12"}.get(token.letters, "aB1")
    key = token.begins[0] + letters * token.length
    assert passed({"CFLAGS": f"-DKEY={key}", "LANG": "C"}) == {"LANG": "C"}


@pytest.mark.parametrize(
    "value",
    [
        "-Dlogin=open-sesame-4711",
        "-Dlogin=b3Blbi1zZXNhbWUtNDcxMQ==",
        "-Dlogin=6f70656e2d736573616d652d34373131",
        "1174-emases-nepo",
    ],
)
def test_a_value_with_a_known_secret_in_any_form_stays_out(value: str) -> None:
    assert passed({"MAVEN_OPTS": value, "LANG": "C"}, "open-sesame-4711") == {"LANG": "C"}


@pytest.mark.parametrize(
    "value", ["ssh://anna:word@builder.example", "https://anna@vault.example", "tcp://a:b@host:2376"]
)
def test_an_address_with_a_login_stays_out(value: str) -> None:
    assert passed({"DOCKER_HOST": value, "LANG": "C"}) == {"LANG": "C"}
