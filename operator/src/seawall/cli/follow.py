"""How an object goes on: each stage and sentence once, until something of it is so."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol

from seawall.api.meta import ConditionType
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.times import CLI_UNANSWERED

Status = Mapping[str, Any]


class Api(Protocol):
    """What is needed of the API server."""

    def get(self, path: str) -> dict[str, Any] | None:
        """Reads a path; None when there is nothing."""
        ...

    def create(self, path: str, body: Mapping[str, Any]) -> object:
        """Creates an object."""
        ...


class ChangingApi(Api, Protocol):
    """The same, where objects are changed, too."""

    def merge(self, path: str, patch: Mapping[str, Any]) -> None:
        """Changes an object, at the resource version of the patch."""
        ...


def follow(
    api: Api,
    path: str,
    noun: str,
    pause: Callable[[], None],
    is_there: Callable[[Status], bool],
    *,
    watch: Callable[[Status], None] = lambda _: None,
) -> Generator[str, None, Status]:
    """Yields what is printed, and returns the status of which `is_there` is true; `pause` passes the time between.

    `watch` is given each status that is not the last. A look without an answer is told, and there is another one: who
    has waited for an hour is not to begin anew because an API server was replaced.

    Raises:
        Refused: the object is gone.
        OutsideUnavailable: the API server did not answer many times.
    """
    reported, silent = "", 0
    while True:
        try:
            found = api.get(path)
        except OutsideUnavailable as silence:
            silent += 1
            if silent == CLI_UNANSWERED:
                raise
            if silent == 1:
                yield f"Asking again: {silence}"
            pause()
            continue
        silent = 0
        if found is None:
            raise Refused(f"the {noun} was deleted before it was over")
        status: Status = found.get("status", {})
        if is_there(status):
            return status
        now = f"{status.get('stage') or 'Pending'}: {message_of(status)}"
        if now != reported:
            yield now
        reported = now
        watch(status)
        pause()


def message_of(status: Status) -> str:
    """The sentence of Ready."""
    return condition_of(status, ConditionType.READY).get("message", "")


def condition_of(status: Status, kind: ConditionType) -> Mapping[str, str]:
    """A condition as the API server has it; empty: there is none."""
    return next((each for each in status.get("conditions", ()) if each["type"] == kind), {})
