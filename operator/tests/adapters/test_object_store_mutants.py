"""The guards of the adapter of object stores are taken away one by one: a story must then fail."""

from __future__ import annotations

import pytest

from seawall.adapters import object_store, object_store_errors
from seawall.adapters.object_store import S3Bucket
from seawall.domain.errors import OutsideUnavailable, Refused
from tests.adapters import test_object_store_answers as answers
from tests.support.mutants import Mutant, find_survivors
from tests.support.object_store import error_of, http
from tests.support.source_mutants import rewritten


def a_web_servers_404() -> None:
    answers.sentence(http("404 Not Found", b"<html>"), Refused)


def a_large_object() -> None:
    answers.sentence(http("200 OK", b"", length=(4 << 20) + 1), Refused)


def a_store_that_is_busy() -> None:
    answers.sentence(http("429 Too Many Requests"), OutsideUnavailable)
    answers.sentence(error_of("400 Bad Request", "RequestTimeout", "Idle."), OutsideUnavailable)


def a_key_and_an_environment() -> None:
    with pytest.MonkeyPatch.context() as patch:
        answers.test_a_declared_key_goes_without_what_the_environment_has(patch)


_READ, _SAID = (S3Bucket, "_read"), (object_store_errors, "translate")


def any_404_is_a_missing_object(patch: pytest.MonkeyPatch) -> None:
    rewritten(*_READ, "code_of(error) == NO_SUCH_KEY", "True")(patch)


def objects_of_any_size(patch: pytest.MonkeyPatch) -> None:
    rewritten(*_READ, "> MAX_OBJECT_BYTES", "> 1 << 30")(patch)


def busy_is_a_refusal(patch: pytest.MonkeyPatch) -> None:
    rewritten(*_SAID, "number in _BUSY or ", "", object_store)(patch)


def later_is_a_refusal(patch: pytest.MonkeyPatch) -> None:
    rewritten(*_SAID, " or code_of(error) in _LATER", "", object_store)(patch)


def the_environments_token_goes_along(patch: pytest.MonkeyPatch) -> None:
    plain = "config.update(access_key_id=key_id or 'pod', secret_access_key=secret or 'hunter3')"
    rewritten(object_store, "_open", "None if given is None else lambda: given", plain)(patch)


MUTANTS: tuple[Mutant, ...] = (
    (any_404_is_a_missing_object, a_web_servers_404),
    (objects_of_any_size, a_large_object),
    (busy_is_a_refusal, a_store_that_is_busy),
    (later_is_a_refusal, a_store_that_is_busy),
    (the_environments_token_goes_along, a_key_and_an_environment),
)


def test_no_guard_is_idle() -> None:
    assert not find_survivors(MUTANTS)
