"""Region ids: 64 bits, `table id (32) | group (8) | sequence (24)`."""

from walrecord.key import MAX_U64

METADATA_GROUP = 1
"""The metric engine keeps the hidden metadata region of a data region (group 0) in this group."""

_MAX_U32 = 2**32 - 1


def region_id(table_id: int, region_number: int) -> int:
    """The id of a region of a table."""
    return _u32(table_id, "table id") << 32 | _u32(region_number, "region number")


def table_id(region: int) -> int:
    """The table that a region belongs to."""
    return _u64(region) >> 32


def region_number(region: int) -> int:
    """The region's number in its table: group and sequence."""
    return _u64(region) & _MAX_U32


def region_group(region: int) -> int:
    """The group of the region: 0 holds data."""
    return region_number(region) >> 24


def region_sequence(region: int) -> int:
    """The region's number within its group."""
    return _u64(region) & 0xFFFFFF


def metadata_region(data_region: int) -> int:
    """The metric engine's metadata region that belongs to a data region; both write to the same topic."""
    return _in_group(data_region, METADATA_GROUP)


def data_region(metadata_region: int) -> int:
    """The data region that a metadata region belongs to."""
    return _in_group(metadata_region, 0)


def _in_group(region: int, group: int) -> int:
    return region_id(table_id(region), group << 24 | region_sequence(region))


def _u32(number: int, what: str) -> int:
    if not 0 <= number <= _MAX_U32:
        raise ValueError(f"the {what} {number} does not fit 32 unsigned bits")
    return number


def _u64(number: int) -> int:
    if not 0 <= number <= MAX_U64:
        raise ValueError(f"the region id {number} does not fit 64 unsigned bits")
    return number
