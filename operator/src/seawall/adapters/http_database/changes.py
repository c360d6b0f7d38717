"""What Seawall asks a database to change, and what that answers: the second half of the contract (`wire.py`)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seawall.adapters.http_database.wire import Message, RegionId, Revision, Text, Topic, TopicMarker, Word

FLUSHES_AT_ONCE = 100
"""Regions in one request of Seawall's to flush: one flush may take a second."""


class ChangeRequest(Message):
    """What all have in common that ask for a change."""

    database: Word
    """Identity of the database that is meant. To any other one it is an error of status 409, which changes nothing: it
    is compared in the transaction that writes."""


class FlushRequest(ChangeRequest):
    """Regions to flush."""

    regions: Annotated[list[RegionId], Field(max_length=1000)]
    """Their ids."""


class FlushFailure(Message):
    """A region that was not flushed."""

    region: RegionId
    """Its id."""
    detail: Text
    """Why, in one sentence."""
    final: bool
    """Whether asking again changes nothing: there is no such region."""


class FlushAnswer(Message):
    """What became of flushes, once each of them was tried."""

    failures: Annotated[list[FlushFailure], Field(max_length=1000)]
    """Those regions of the request that were not flushed. One without anything in memory was."""


class ClaimRequest(ChangeRequest):
    """A claim to write, if it is as it was read."""

    prefix: Topic
    """Of the topics."""
    owner: Word
    """The UID of a WALCluster."""
    before: Word | None
    """The claim as it was read; null: there was none."""


class ClaimAnswer(Message):
    """Whether the claim was written."""

    written: bool
    """False: it was not as it was read, and nothing changed."""


class MarkerMove(Message):
    """A marker to move up, if nothing happened that speaks against it."""

    topic: Topic
    """Name of the topic."""
    marker: Annotated[int, Field(ge=1, le=2**63 - 1)]
    """The new one."""
    recorded: TopicMarker
    """The marker as it was read: it must still be so, revision included, and lower than the new one."""
    revision: Revision
    """Of the metadata that were decided by: no region of the topic may have changed, or been made, since."""


class MarkersRequest(ChangeRequest):
    """Markers to move; each by itself, compared and written in one transaction."""

    prefix: Topic
    """Of the topics: the claim on it must be the owner's in the same transaction."""
    owner: Word
    """The UID of a WALCluster."""
    moves: Annotated[list[MarkerMove], Field(max_length=1000)]
    """What to move."""


class RefusedMove(Message):
    """A marker that did not move."""

    topic: Topic
    """Name of the topic."""
    detail: Text
    """Which comparison failed, in one sentence."""


class MarkersAnswer(Message):
    """What became of them."""

    refused: Annotated[list[RefusedMove], Field(max_length=1000)]
    """Those of the request that did not move. All others have moved, and are durable."""


class MaintenanceRequest(ChangeRequest):
    """Turns the switch."""

    enabled: bool
    """Whether it is to be on."""
