"""What is secret, and what is not."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.testing import json_values
from fleetgate.protocols.redaction import (
    DEPTH,
    REDACTED,
    Redaction,
    is_environment,
    is_secret,
    read_json,
    write_json,
)

HIDDEN = "s3cr3t-value"


SECRETS = (
    "token accessToken api_key apiKey X-Api-Key password Authorization client_secret set-cookie"
    " credentials private_key"
)


@pytest.mark.parametrize("name", SECRETS.split())
def test_text_under_these_names_is_secret(name: str) -> None:
    assert is_secret(name)
    redaction = Redaction()
    clean = redaction.value({"outer": [{name: HIDDEN}]})
    assert HIDDEN not in json.dumps(clean)
    assert redaction.count == 1


@pytest.mark.parametrize(
    "value",
    [
        {"input_tokens": 12, "token": 4, "secret": True, "password": None},
        {"tokenizer": "bpe", "idempotencyKey": "k", "environmentProfile": "dev"},
        {"prompt": "what is a token?", "env": "staging", "token": ""},
    ],
)
def test_numbers_and_other_names_are_not(value: dict[str, object]) -> None:
    redaction = Redaction()
    assert redaction.value(value) == value  # type: ignore[arg-type]
    assert redaction.count == 0


@pytest.mark.parametrize("name", ["env", "environment", "Environment"])
def test_every_value_of_an_environment_is_secret(name: str) -> None:
    assert is_environment(name)
    redaction = Redaction()
    clean = redaction.value({name: {"A": HIDDEN, "B": {"c": [HIDDEN]}, "D": ""}})
    assert clean == {name: {"A": REDACTED, "B": {"c": [REDACTED]}, "D": ""}}
    assert redaction.count == 2
    listed = redaction.value({name: [f"A={HIDDEN}", "B", "C="]})
    assert listed == {name: [f"A={REDACTED}", "B", "C="]}


def test_json_inside_of_text_and_bearers_are_found() -> None:
    redaction = Redaction()
    inner = json.dumps({"token": HIDDEN, "n": 1})
    clean = redaction.value({"body": inner, "line": f"curl -H 'Authorization: Bearer {HIDDEN}'"})
    assert HIDDEN not in json.dumps(clean)
    assert json.loads(clean["body"]) == {"token": REDACTED, "n": 1}  # type: ignore[index,call-overload,arg-type]
    assert redaction.count == 2
    assert redaction.text('{"n": 1 }') == '{"n": 1 }'
    assert redaction.text("{no json}") == "{no json}"


@pytest.mark.parametrize(
    ("said", "clean"),
    [
        (f"https://h/y?access_token={HIDDEN}&z=1", f"https://h/y?access_token={REDACTED}&z=1"),
        (f"see wss://h/y?z=1&api-key={HIDDEN}#end", f"see wss://h/y?z=1&api-key={REDACTED}#end"),
        (f"<https://h/?client_secret={HIDDEN}>", f"<https://h/?client_secret={REDACTED}>"),
        (f"postgres://me:{HIDDEN}@h:5/db", f"postgres://me:{REDACTED}@h:5/db"),
        (f"git clone https://{HIDDEN}@h/x.git", f"git clone https://{REDACTED}@h/x.git"),
    ],
)
def test_secrets_within_addresses_are_found(said: str, clean: str) -> None:
    redaction = Redaction()
    assert redaction.value({"url": said}) == {"url": clean}
    assert redaction.count == 1
    assert redaction.text(clean) == clean
    assert redaction.count == 1


@pytest.mark.parametrize(
    "text",
    [
        "https://h:80/y?tokenizer=bpe&page=2",
        "https://h/@someone?at=a:b@c",
        "is it so?token=none, x&token=1",
        "https://h/y?token=&z=1",
        "mail a:b@c",
        "https://h:80/a b@c",
        "ssh://git@h/x.git",
    ],
)
def test_addresses_without_secrets_stay(text: str) -> None:
    redaction = Redaction()
    assert redaction.text(text) == text
    assert redaction.count == 0


@given(json_values())
def test_clean_twice_is_clean_once(value: object) -> None:
    once = Redaction().value(value)  # type: ignore[arg-type]
    again = Redaction()
    assert again.value(once) == once
    assert again.count == 0


@given(json_values())
def test_what_is_written_is_read_again(value: object) -> None:
    text = json.dumps(value).encode()
    read, plain = read_json(text)
    assert plain
    assert read_json(write_json(read)) == (read, True)


@given(st.binary(max_size=40))
def test_any_bytes_are_json_or_a_value_error(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        read, _ = read_json(data)
        assert write_json(read_json(write_json(read))[0]) == write_json(read)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"s3cr3t"])
def test_what_is_no_json_is_not_repeated(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not JSON at character \d: [A-Z][a-z ]+$"):
        read_json(data)


def test_bytes_that_are_no_utf8_come_out_as_they_were() -> None:
    read, _ = read_json(b'"a\xffb"')
    assert write_json(read) == b'"a\xffb"'


def test_a_key_that_comes_twice_is_noticed() -> None:
    assert read_json(b'{"a": {"t": 1, "t": 2}}') == ({"a": {"t": 2}}, False)
    with pytest.raises(ValueError, match="inside each other"):
        read_json(b"[" * 100_000)


@pytest.mark.parametrize("depth", [DEPTH + 1, 400, 980, 100_000])
@pytest.mark.parametrize(("head", "tail"), [("[", "]"), ('{"a":', "}")])
def test_what_is_too_deep_to_be_looked_into_is_not_shown(depth: int, head: str, tail: str) -> None:
    text = f'{head * depth}"hunter2"{tail * depth}'
    with pytest.raises(ValueError, match=f"^more than {DEPTH} objects and arrays inside each"):
        read_json(text.encode())
    redaction = Redaction()
    assert redaction.value({"output": text}) == {"output": REDACTED}
    assert redaction.count == 1


def test_what_is_just_not_too_deep_is_looked_into() -> None:
    text = "[" * (DEPTH - 1) + '{"token":"hunter2"}' + "]" * (DEPTH - 1)
    value, plain = read_json(text.encode())
    redaction = Redaction()
    assert plain
    assert REDACTED in str(redaction.value(value))
    assert REDACTED in str(redaction.value({"output": text}))
    assert redaction.count == 2


def test_what_is_no_text_in_an_environment_stays() -> None:
    redaction = Redaction()
    value = {"env": {"A": 1, "B": None}, "environment": [["x"], 2]}
    assert redaction.value(value) == {"env": {"A": 1, "B": None}, "environment": [[REDACTED], 2]}  # type: ignore[arg-type,list-item]
    assert redaction.count == 1


def test_halves_of_surrogate_pairs_are_written_escaped() -> None:
    assert write_json("\ud83d") == b'"\\ud83d"'


@pytest.mark.parametrize(
    "data",
    [
        b'"\\ud800\xb2"',  # a half that is escaped, and a byte that would be its other half
        b'"\\udcc3\\udcbc"',  # two halves whose bytes would be a letter
        b'"\\ud800\xb2\\udcc3\\udcbc"',
    ],
)
def test_halves_are_read_again_as_the_halves_that_they_are(data: bytes) -> None:
    read = read_json(data)[0]
    assert read_json(write_json(read))[0] == read
