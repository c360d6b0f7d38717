"""What the run that is meant was begun with, by its request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pydantic import TypeAdapter

from seawall.api.meta import StatusModel
from seawall.domain.kubernetes import Damaged, unpack
from seawall.domain.spark_job.request import FILE, MAX_BYTES
from seawall.domain.subscription.case import Case

LONGEST = 32 * MAX_BYTES
"""Bytes that a request unpacks to, at most: what somebody else stored is not in memory as a whole."""


@dataclass(frozen=True, slots=True)
class Table:
    """One that is selected: there may be 100,000."""

    id: int
    name: str


class Tables(StatusModel):
    """What a run of rows knows of tables."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    known: tuple[Table, ...]
    not_selected: tuple[int, ...]


class Topic(StatusModel):
    """One that is copied."""

    name: str


class FrozenRun(StatusModel):
    """A request, as far as the next one depends on it."""

    topics: tuple[Topic, ...]
    tables: Tables | None = None


_SHAPE = TypeAdapter(FrozenRun)


def frozen_run(case: Case) -> FrozenRun | None:
    """The request of the run that is meant; None: there is none, or it is nothing that a subscription writes."""
    request = case.observed.request
    if request is None or request.controller_uid != case.uid:
        return None
    return _read(request.binary_data.get(FILE, b""))


@lru_cache(maxsize=4)
def _read(data: bytes) -> FrozenRun | None:
    """A tick asks several times, and the next one the same."""
    try:
        return unpack(data, _SHAPE, LONGEST)
    except Damaged:
        return None


def copied_by(case: Case) -> frozenset[str]:
    """The topics that the application that is there copies."""
    found = None if case.own_application is None else frozen_run(case)
    return frozenset() if found is None else frozenset(topic.name for topic in found.topics)
