"""Finds what the watch has not told of: it may be deaf, to one kind or to all, and not know it.

A kind that discovery lacked when it began, a CA that was replaced since, a right to watch that is missing: nothing
ends, and nobody hears of new objects. So the leader lists the metadata of all once a resync.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.cluster import WAL_CLUSTER
from seawall.api.v1alpha1.kinds import RESOURCES
from seawall.domain.errors import SeawallError
from seawall.domain.times import WATCH_DEAF_SECONDS
from seawall.handlers.event_filter import Fingerprint, Subject, fingerprint

Metadata = Mapping[str, Any]
State = tuple[Subject, Fingerprint]
"""An object, and as what it was found."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """What one look came to.

    Attributes:
        unheard: all that the watch has not told of as it is; it may still be about to.
        deaf: those of them that have been so for WATCH_DEAF_SECONDS.
    """

    unheard: tuple[Subject, ...]
    deaf: tuple[Subject, ...]


class Unheard:
    """Compares what the API server has with what the watch has told.

    Args:
        list_metadata: the metadata of all objects of a kind, as the API server has it.
        has_heard: whether the watch has told of an object of a kind with this metadata.
        monotonic: a clock.
    """

    def __init__(
        self,
        list_metadata: Callable[[type[AnyResource]], Sequence[Metadata]],
        has_heard: Callable[[str, Metadata], bool],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._list_metadata, self._has_heard, self._monotonic = list_metadata, has_heard, monotonic
        self._since: dict[str, dict[State, float]] = {}
        self._unlisted: dict[str, str] = {}

    def find(self) -> Found:
        """Lists all kinds; blocks. Of one that cannot be listed it stays as it was, which is logged once.

        None of these is deaf: whether the watch has told of its objects meanwhile is not known.
        """
        listed = set[str]()
        for resource in RESOURCES:
            kind = resource.KIND.kind
            try:
                self._compare(kind, self._list_metadata(resource))
            except SeawallError as error:
                if self._unlisted.get(kind) != str(error):
                    _log.warning("whether the watch tells of each %s is not known: %s", kind, error)
                self._unlisted[kind] = str(error)
            else:
                listed.add(kind)
                self._unlisted.pop(kind, None)
        now = self._monotonic()
        found = {subject: now - since for states in self._since.values() for (subject, _), since in states.items()}
        late = (subject for subject, for_ in found.items() if for_ >= WATCH_DEAF_SECONDS)
        return Found(tuple(found), tuple(subject for subject in late if subject.kind in listed))

    def forget(self) -> None:
        """It begins anew: another watch, or another time as the leader."""
        self._since.clear()

    def _compare(self, kind: str, listed: Sequence[Metadata]) -> None:
        """One that changed meanwhile is another state: only what stays unheard is no race of a list and the watch."""
        now, before = self._monotonic(), self._since.get(kind, {})
        states = [_state(kind, metadata) for metadata in listed if not self._has_heard(kind, metadata)]
        self._since[kind] = {state: before.get(state, now) for state in states}


def _state(kind: str, metadata: Metadata) -> State:
    key = Key(metadata["namespace"], metadata["name"])
    return Subject(kind, key, key if kind == WAL_CLUSTER.kind else None), fingerprint(metadata)
