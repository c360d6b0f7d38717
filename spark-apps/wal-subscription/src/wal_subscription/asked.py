"""What requests of all sinks that have progress say, whatever else they do."""

from __future__ import annotations

from typing import Protocol


class OfWriter(Protocol):
    """A sink."""

    @property
    def writer(self) -> str:
        """What progress is signed with."""
        ...


class OfGlobs(Protocol):
    """What is selected."""

    @property
    def digest(self) -> str:
        """Of the globs."""
        ...

    def has(self, table: int) -> bool | None:
        """Whether a table is selected; None: it is not known."""
        ...


class OfRun(Protocol):
    """A request."""

    @property
    def run(self) -> int:
        """Its number."""
        ...

    @property
    def sink(self) -> OfWriter:
        """Where rows and progress go."""
        ...

    @property
    def selection(self) -> OfGlobs:
        """What is selected."""
        ...

    @property
    def snapshot_uri(self) -> str | None:
        """The folder of what topics begin with; None: they begin with the log."""
        ...


class SourceTopic(Protocol):
    """A topic of the source."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def source_id(self) -> str:
        """As Kafka prints it."""
        ...

    @property
    def generation(self) -> int:
        """How often a person let it begin anew."""
        ...

    @property
    def start(self) -> int:
        """Where it begins when there is no progress of this generation."""
        ...

    @property
    def names_known_to(self) -> int:
        """The names of all tables were read when its log had ended here."""
        ...


class OfTopic(Protocol):
    """A job."""

    @property
    def topic(self) -> SourceTopic:
        """Whose records it is about."""
        ...

    @property
    def end(self) -> int:
        """Where the source's log ends."""
        ...

    @property
    def source_start(self) -> int:
        """Where it begins."""
        ...
