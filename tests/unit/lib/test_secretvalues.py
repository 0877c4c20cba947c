"""Known secrets are found in whatever carries them, whole or in pieces; other text is left alone."""

import base64
import html
import itertools
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.lib.encodings import undisguised
from hermes.lib.secretvalues import MASK, SHORTEST, SecretValues, forms
from hermes.lib.text_stream import TextStream

SECRET = 'p4"ss/w+rd\\ü 7'
values = (
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=8, max_size=24)
    .filter(lambda text: len(text.strip()) >= 8 and text not in MASK)
    .filter(lambda value: not (value.isalpha() and value.islower()))
)  # a plain word is nobody's secret


@pytest.mark.parametrize(
    "carried",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(SECRET, ensure_ascii=False))[3:-3],
        quote(SECRET),
        quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%5C%C3%BC", "%5c%c3%bc"),
        quote_plus(SECRET),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        SECRET[::-1],
    ],
)
def test_a_secret_is_hidden_in_each_form(carried: str) -> None:
    assert SecretValues(SECRET).redact(f"<{carried}>") == f"<{MASK}>"


@given(values)
def test_a_secret_is_looked_for_as_markup_carries_it(secret: str) -> None:
    assert {html.escape(secret), html.escape(secret, quote=False)} <= set(forms(secret))


@pytest.mark.parametrize("before", ["", "u:", "me:", "user:"])
def test_a_secret_is_hidden_in_base64_wherever_it_begins(before: str) -> None:
    coded = base64.b64encode(f"{before}{SECRET}@host".encode()).decode()
    left = SecretValues(SECRET).redact(coded)
    assert MASK in left
    assert len(left) - len(MASK) <= len(coded) - len(base64.b64encode(SECRET.encode())) + 6


def test_long_base64_is_hidden_line_by_line() -> None:
    secret = "".join(chr(33 + number * 7 % 90) for number in range(200))
    lines = base64.encodebytes(secret.encode()).decode()
    assert SecretValues(secret).redact(lines).replace(MASK, "").strip("=\n") in {
        "",
        "w",
    }  # the last character depends on what follows


def test_the_lines_of_a_secret_are_secrets_where_they_are_no_words() -> None:
    secret = "-----BEGIN A KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqG\nshort\n-----END A KEY-----\n"
    known = SecretValues(secret)
    assert (
        known.redact(secret.replace("\n", "\n1|"))
        == f"-----BEGIN A KEY-----\n1|{MASK}\n1|short\n1|-----END A KEY-----\n1|"
    )
    assert known.redact(f"a {secret.strip()} b") == f"a {MASK} b"


def test_short_values_and_no_values_hide_nothing() -> None:
    known = SecretValues("", "1234567", "      a      ")
    assert known.redact("1234567 1234567 a") == "1234567 1234567 a"
    assert known.pending_prefix_len("1234") == 0


def test_what_is_learned_later_is_hidden_from_then_on() -> None:
    known = SecretValues("first-secret")
    assert known.redact("second-secret") == "second-secret"
    known.learn("second-secret")
    assert known.redact("first-secret second-secret") == f"{MASK} {MASK}"


def test_nothing_is_forgotten_when_threads_learn_and_hide_at_a_time() -> None:
    known, secrets = SecretValues(), [f"secret-number-{number}" for number in range(40)]

    def use(secret: str) -> str:
        known.learn(secret)
        return known.redact(secret)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(use, secrets)) == {MASK}
    assert {known.redact(secret) for secret in secrets} == {MASK}


def test_the_longer_of_two_secrets_is_hidden_whole() -> None:
    assert SecretValues("password", "password-for-production").redact("password-for-production") == MASK


def test_nothing_of_them_is_in_their_representation() -> None:
    assert repr(SecretValues("first-secret", "second-secret")) == "<2 secrets>"


def shown(known: SecretValues, pieces: list[str]) -> list[str]:
    found: list[str] = []
    veil = TextStream(known, found.append)
    for piece in pieces:
        veil.add(piece)
    veil.end()
    return found


@given(
    secret=values,
    around=st.lists(st.text(max_size=8), min_size=2, max_size=4),
    cuts=st.lists(st.integers(0, 80), max_size=12),
)
def test_a_secret_in_pieces_is_hidden_as_one_is_that_comes_whole(
    secret: str, around: list[str], cuts: list[int]
) -> None:
    text, known = secret.join(around), SecretValues(secret)
    places = sorted({min(cut, len(text)) for cut in (0, *cuts, len(text))})
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    assert secret not in "".join(shown(known, pieces))


@given(st.lists(st.text(max_size=12), max_size=8))
def test_other_text_passes_unchanged_and_all_of_it(pieces: list[str]) -> None:
    assert "".join(shown(SecretValues("Zq8$-unlikely-0193"), pieces)) == "".join(pieces)


PAIR = (SECRET, "Zq8$-unlikely-0193")
FORMS = sorted({one for value in PAIR for one in forms(value) if len(one) >= SHORTEST}, key=len, reverse=True)
parts = st.sampled_from(FORMS).flatmap(lambda form: st.slices(len(form)).map(lambda cut: form[cut]))


@given(st.lists(parts | st.sampled_from(FORMS) | st.text(max_size=6), max_size=5).map("".join))
def test_one_look_at_a_text_finds_what_a_look_for_each_form_finds(text: str) -> None:
    known, hidden = SecretValues(*PAIR), text
    for form in sorted(FORMS, key=lambda form: (-len(form), form)):
        hidden = hidden.replace(form, MASK)
    assert known.redact(text) == undisguised(hidden, PAIR, MASK)
    hidden = known.redact(text)
    ends = (n for form in FORMS for n in range(1, len(form)) if hidden.endswith(form[:n]))
    assert known.pending_prefix_len(hidden) == max(ends, default=0)


def test_text_that_is_no_beginning_of_a_secret_does_not_wait() -> None:
    found: list[str] = []
    veil = TextStream(SecretValues("secret-0123"), found.append)
    veil.add("a sec")
    veil.add("ond se")
    veil.add("cret-0123!")
    assert found == ["a ", "second ", f"{MASK}!"]


@settings(max_examples=50)
@given(secret=values)
def test_no_form_survives_in_a_document(secret: str) -> None:
    document = json.dumps({"a": secret, "b": [quote(secret), secret.encode().hex()]})
    left = SecretValues(secret).redact(document)
    assert json.loads(left) == {"a": MASK, "b": [MASK, MASK]}


def test_a_megabyte_is_searched_for_thirty_secrets_in_seconds() -> None:
    known = SecretValues(*(f"secret-{number}-{number * 7919:x}" for number in range(30)))
    text = "some output of a program, line by line\n" * 26_000
    known.redact("")
    started = time.thread_time()
    assert known.redact(text) == text
    assert time.thread_time() - started < 5  # a second on a slow machine; naively it would be a minute


def test_a_password_that_is_a_plain_word_does_not_hide_that_word() -> None:
    assert SecretValues("postgres", "password").redact("the postgres password") == "the postgres password"
    assert (
        SecretValues("postgres9", "correcthorsebattery").redact("postgres9 correcthorsebattery")
        == "[redacted] [redacted]"
    )


def test_a_secret_that_is_no_text_is_hidden_as_any_other() -> None:
    secret = os.fsdecode(b"abc\xff9defghijkl1")
    assert SecretValues(secret).redact(f"it is {secret}.") == f"it is {MASK}."
