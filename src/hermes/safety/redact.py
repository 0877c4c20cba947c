"""Take credentials out of text by their form; `lib.secretvalues` takes out those whose value is known."""

import re
from typing import Final

from hermes.config.sensitive import is_secret_path
from hermes.lib.secretnames import is_secret_name
from hermes.lib.secretvalues import MASK
from hermes.safety.commands.paths import is_env_file
from hermes.safety.key_forms import without_tokens

_SHORTEST: Final = 6  # a shorter value is hardly a credential

_KEY_MARKS: Final = r"(?:[\s\"'+,>|-]|\\[nrt]|\d{1,6}[|:])*"
"""What stands between the lines of a key: ends of lines, quotes, marks of diffs, numbers of lines."""
_KEY_LINE: Final = (
    r"(?:[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/=]+(?=[\"',]*(?:\s*(?:\n|\Z)|\\n|-----END))"
    r"|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\n\\\"']{0,120})"
)
_KEY_BLOCK: Final = re.compile(
    rf"(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)(?:{_KEY_MARKS}{_KEY_LINE})+(?:[\s\\n]*(?=-----END))?"
)
"""Only lines that a key can have: more would hide from a person what they are asked about."""
_HEADER: Final = re.compile(
    r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)(?:((?:bearer|basic|token|digest|apikey|api-key|negotiate|bot|key)\s+)"
    r"[A-Za-z0-9._~+/=-]{8,}|(?=[a-z._~+/=-]{0,100}\d)[A-Za-z0-9._~+/=-]{12,})"
)
_USERINFO: Final = re.compile(r"(\b[a-z][a-z0-9+.-]{0,20}://[^/\s:@]{0,100}:)[^/\s@]{3,}(@)")
_USER_TOKEN: Final = re.compile(r"(\b[a-z][a-z0-9+.-]{0,20}://)(?=[A-Za-z_-]{0,100}\d)[A-Za-z0-9_-]{20,}(@)")
_QUERY: Final = re.compile(
    r"(?i)([?&;](?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|auth|key|apikey|pwd|code|(?:[a-z]{1,20}_)?(?:token|secret|password))=)[^&\s\"'<>){$]{8,}"
)
_FLAG: Final = re.compile(
    r"(--(?:[a-z]{1,20}-){0,3}(?:password|passwd|passphrase|token|api-key|apikey|secret|secret-key|access-key)[="
    r" ])([^\s\"'$<-][^\s\"']*)"
)
_LOGIN: Final = re.compile(
    r"(\bcurl\b[^\n]{0,200}?\s(?:-u|--user)["
    r" =]?[\"']?[^\s:\"']{1,64}:|\blogin\s+\S{1,100}\s+password\s+)[^\s\"']{3,}"
)
_COOKIE: Final = re.compile(r"(?im)^([ \t<>*]{0,4}(?:set-)?cookie:\s{0,4}[^=\s;]{1,80}=)[^;\s]{8,}")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASSIGNMENT: Final = re.compile(
    r"""(\b([A-Za-z][A-Za-z0-9_-]*)["']?\s*[=:]\s*)("[^"\n]*"|'[^'\n]*'|[^\s"',;&#)}\]]+)"""
)
_NAMED: Final = re.compile(
    r"(?:key|secret|token|pass|credential|pat|jwt|cookie|string|pwd|sentry|session|auth_config|_ur[il])"
    r"[a-z0-9_-]{0,200}[\"']?\s*[=:]"
)
"""Something in lower case that may be the name of a credential, and is assigned; see `is_secret_name`."""
_PLAIN: Final = re.compile(
    r"[\"']?(?:|\d{1,12}(?:\.\d+)?|true|false|null|none|yes|no|\*+|x+|\$\{?\w+\}?|<[^>]*>|\.\.\.|…|your[_-].*|changeme|\[redacted\])[\"']?",
    re.IGNORECASE,
)


_VALUE: Final = re.compile(r"(?m)^([ \t]*(?:(?:export[ \t]+)?[\w.-]+[ \t]*=)?[ \t]*)(?![#\s])\S.*")
"""A line but for the name in it."""


def redact_file(path: str, text: str) -> str:
    """As `redact`, for the text of a file; of one that holds secrets by its name no value is left."""
    if is_env_file(path) or is_secret_path(f"/{path}", ""):
        text = _VALUE.sub(rf"\1{MASK}", text)
    return redact(text)


def redact(text: str) -> str:
    """`text` with each token, private key and password in an address replaced by a mask; the rest is
    untouched.
    """
    lower = text.lower()  # most texts have none of the words without which there is nothing to look for
    if "PRIVATE KEY" in text:
        text = _KEY_BLOCK.sub(rf"\1{MASK}", text)
    if "authorization" in lower:
        text = _HEADER.sub(lambda found: f"{found[1]}{found[2] or ''}{MASK}", text)
    text = without_tokens(text, MASK)
    if "://" in text:
        text = _USERINFO.sub(rf"\1{MASK}\2", text)
        text = _USER_TOKEN.sub(rf"\1{MASK}\2", text)
        text = _QUERY.sub(rf"\1{MASK}", text)
    if "curl" in lower or "login" in lower:
        text = _LOGIN.sub(rf"\1{MASK}", text)
    if "cookie:" in lower:
        text = _COOKIE.sub(rf"\1{MASK}", text)
    text = _FLAG.sub(lambda found: f"{found[1]}{MASK}" if _looks_random(found[2]) else found[0], text)
    return _ASSIGNMENT.sub(_assigned, text) if _NAMED.search(lower) else text


def _assigned(match: re.Match[str]) -> str:
    """An assignment whose name says that the value is a credential; numbers, names of variables and
    placeholders stay.
    """
    before, name, value = match.groups()
    bare = value.strip("\"'")
    # NAME=value without spaces is how environments are written: there a plain word is a value, too.
    listed = name.isupper() and before.endswith(f"{name}=") and _is_literal(bare)
    if (
        not is_secret_name(_HUMP.sub("_", name).replace("-", "_"))
        or _PLAIN.fullmatch(value)
        or not (listed or _looks_random(bare))
    ):
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{before}{quote}{MASK}{quote}"


def _looks_random(value: str) -> bool:
    """Whether a value is more than a word: code such as `token = get_token()` must stay readable."""
    if len(value) < _SHORTEST or not _is_literal(value):
        return False
    kinds = sum(bool(re.search(pattern, value)) for pattern in (r"[a-z]", r"[A-Z]", r"\d", r"[^A-Za-z0-9_.]"))
    return kinds >= 2 and (bool(re.search(r"\d", value)) or kinds > 2)


def _is_literal(value: str) -> bool:
    """Whether a value is written out, and not made by code or a template."""
    return not re.search(r"[()\[\]{}<>$]|\.\w+\(", value)
