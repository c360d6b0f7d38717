"""Who waits for something is not sent away because the API server did not answer once."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.cli.follow import follow
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.times import CLI_UNANSWERED

SILENCE = OutsideUnavailable("GET /run: no answer")
OVER = {"status": {"stage": "Completed"}}


class Answers:
    """An API server that answers so."""

    def __init__(self, *answers: dict[str, Any] | OutsideUnavailable | None) -> None:
        self.left = list(answers)

    def get(self, _: str) -> dict[str, Any] | None:
        found = self.left.pop(0)
        if isinstance(found, OutsideUnavailable):
            raise found
        return found

    def create(self, *_: object) -> None:
        raise AssertionError("nothing is created by who looks")


def told(api: Answers) -> list[str]:
    """What is printed."""
    return list(follow(api, "/run", "run", lambda: None, lambda status: status.get("stage") == "Completed"))


def test_a_silence_is_told_once_and_asked_over() -> None:
    waits = {"status": {"stage": "Running"}}
    api = Answers(waits, SILENCE, SILENCE, waits, SILENCE, OVER)
    assert told(api) == ["Running: ", "Asking again: GET /run: no answer", "Asking again: GET /run: no answer"]
    assert api.left == []


def test_a_silence_that_lasts_ends_it() -> None:
    api = Answers(*[SILENCE] * (CLI_UNANSWERED - 1), OVER)
    assert told(api) == ["Asking again: GET /run: no answer"]
    api = Answers(*[SILENCE] * CLI_UNANSWERED, OVER)
    with pytest.raises(OutsideUnavailable, match="no answer"):
        told(api)
    assert api.left == [OVER]


def test_what_was_deleted_is_not_waited_for() -> None:
    with pytest.raises(Refused, match="the run was deleted before it was over"):
        told(Answers(SILENCE, None))
