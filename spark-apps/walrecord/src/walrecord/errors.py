"""What can be wrong with one record. Every error names the record's offset when it is known."""


class RecordError(Exception):
    """A record cannot be read."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason if offset is None else f"offset {offset}: {reason}")
        self.reason = reason
        self.offset = offset


class MissingKey(RecordError):  # noqa: N818 - the database's own name for it
    """A record has a value but no key: the database refuses to open every region of the topic."""


class InvalidKey(RecordError):  # noqa: N818 - reads as a sentence where it is raised
    """The key is not the JSON object that it should be."""


class UnsupportedVersion(RecordError):  # noqa: N818 - as above
    """The key's version is not one that this codec knows."""


class UnknownRecordType(RecordError):  # noqa: N818 - as above
    """The key's type is none of Full, First, Middle and Last."""


class IdOutOfRange(RecordError):  # noqa: N818 - as above
    """A region id or entry id does not fit 64 unsigned bits."""


class InvalidEntry(RecordError):  # noqa: N818 - as above
    """The value is not a whole WalEntry."""
