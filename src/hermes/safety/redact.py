"""Take credentials out of text by their form; `lib.secretvalues` takes out those whose value is known."""

import re
from typing import Final

from hermes.lib.secretnames import is_secret_name
from hermes.lib.secretvalues import MASK

_SHORTEST: Final = 8  # a shorter value is hardly a credential

_TOKENS: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"sk-(?:ant-|proj-|or-v1-|svcacct-|live-)?[A-Za-z0-9_-]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{18,}|gl(?:rt|dt|soat)-[A-Za-z0-9_-]{18,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{50,}"
    r"|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|gsk_[A-Za-z0-9]{30,}"
    r"|xai-[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|tvly-[A-Za-z0-9-]{20,}|fc-[a-f0-9]{30,}|dop_v1_[a-f0-9]{40,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}|lin_api_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}"
    r"|secret_[A-Za-z0-9]{40,}|sq0[a-z]{3}-[A-Za-z0-9_-]{20,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|AC[a-f0-9]{32}(?=:)|key-[a-f0-9]{32}"
    r")(?![A-Za-z0-9])"
)
_KEY_BLOCK: Final = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----).*?(-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL
)
_HEADER: Final = re.compile(r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token|digest)\s+)[A-Za-z0-9._~+/=-]{8,}")
_USERINFO: Final = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^/\s:@]*:)[^/\s@]{3,}(@)")
_ASSIGNMENT: Final = re.compile(r"""(\b([A-Za-z][A-Za-z0-9_-]*)["']?\s*[=:]\s*)("[^"\n]*"|'[^'\n]*'|[^\s"',;&#)}\]]+)""")
_PLAIN: Final = re.compile(
    r"[\"']?(?:|\d{1,12}(?:\.\d+)?|true|false|null|none|yes|no|\*+|x+|\$\{?\w+\}?|<[^>]*>|\.\.\.|…|your[_-].*|changeme|\[redacted\])[\"']?",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """`text` with each token, private key and password in an address replaced by a mask; the rest is untouched."""
    if "PRIVATE KEY" in text:
        text = _KEY_BLOCK.sub(rf"\1{MASK}\2", text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    text = _TOKENS.sub(MASK, text)
    text = _USERINFO.sub(rf"\1{MASK}\2", text)
    return _ASSIGNMENT.sub(_assigned, text)


def _assigned(match: re.Match[str]) -> str:
    """An assignment whose name says that the value is a credential; numbers, names of variables and placeholders stay."""
    before, name, value = match.groups()
    if not is_secret_name(name.replace("-", "_")) or _PLAIN.fullmatch(value) or not _looks_random(value.strip("\"'")):
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{before}{quote}{MASK}{quote}"


def _looks_random(value: str) -> bool:
    """Whether a value is more than a word: code such as `token = get_token()` must stay readable."""
    if len(value) < _SHORTEST or re.search(r"[()\[\]{}<>$]|\.\w+\(", value):
        return False
    kinds = sum(bool(re.search(pattern, value)) for pattern in (r"[a-z]", r"[A-Z]", r"\d", r"[^A-Za-z0-9_.]"))
    return kinds >= 2 and (bool(re.search(r"\d", value)) or kinds > 2)
