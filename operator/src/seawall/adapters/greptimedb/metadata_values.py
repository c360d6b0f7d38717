"""GreptimeDB's metadata keys and values as text → what they mean (facts/greptimedb.md §1.9, §3).

Values are its JSON; members that it may add later are ignored. Everything here raises ValueError, KeyError or TypeError
on what makes no sense.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from seawall.domain.dataplane.metadata import LeaderState, RegionKey, Route

TOPIC_NAMES = "__topic_name/kafka/"
TOPIC_REGIONS = "__topic_region/"
DATANODE_TABLES = "__dn_table/"
TABLE_ROUTES = "__table_route/"
DATANODE_ADDRESSES = "__node_address/0/"
TABLE_NAMES = "__table_name/"
TOMBSTONES = "__tombstone/"
"""A dropped table's keys live on as copies, with this before the whole key, until the drop cannot be undone."""
DROPPED_AT, KEPT_UNTIL = TOMBSTONES + "__dropped_at/", TOMBSTONES + "__retention_expires_at/"
"""With the id of a table that was dropped softly: `delete_table_metadata_with_retention`, `src/common/meta/src/key.rs`
(v1.2.0-beta.1, Enterprise)."""
MAINTENANCE = ("__switches/maintenance", "__maintenance")
"""Either key, with whatever value: the database is in maintenance. The second one was written before 0.16."""

_KAFKA, _NO_LOG = "kafka", "noop"
_NO_TOPIC = ("raft_engine", _NO_LOG)
_FILE_ENGINE = "file"
_STATES = {
    None: LeaderState.NORMAL,
    "Downgrading": LeaderState.DOWNGRADING,
    "Downgraded": LeaderState.DOWNGRADING,  # as it was called once
    "Staging": LeaderState.STAGING,
}
_MAX_U64 = 2**64 - 1


def topic_regions(topic: str) -> str:
    """What the region keys of one topic begin with."""
    return f"{TOPIC_REGIONS}{topic}/"


def read_table_name(rest: str, value: str) -> tuple[int, str]:
    """A table's id and `schema.table`, from `<catalog>/<schema>/<table>` and a value that has the id.

    Of all catalogs: a table is meant by its id, and its name is for people (`src/common/meta/src/key/table_name.rs`).
    """
    _, schema, table = rest.split("/", 2)
    found = _object(value)["table_id"]
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 2**32:
        raise ValueError("no table id in the value")
    return found, f"{schema}.{table}"


def read_marker(value: str) -> int | None:
    """A topic's pruned marker; values of old versions are empty or null."""
    data = _object(value)
    return None if data.get("pruned_entry_id") is None else entry_id(data["pruned_entry_id"])


def marker_with(value: str, pruned_entry_id: int) -> str:
    """The same value with another marker; members that we do not know stay."""
    return json.dumps({**_object(value), "pruned_entry_id": pruned_entry_id}, separators=(",", ":"))


def read_region_key(rest: str, value: str, mod_revision: int) -> tuple[str, int, RegionKey]:
    """Topic, region id and checkpoint from `<topic>/<region id>` and a value, which may be empty, `{}` or have one."""
    topic, _, region = rest.rpartition("/")
    if not topic:
        raise ValueError("no topic in the key")
    checkpoint = _object(value).get("checkpoint") or {}
    entry, metadata = checkpoint.get("entry_id"), checkpoint.get("metadata_entry_id")
    key = RegionKey(_entry_or_none(entry), _entry_or_none(metadata), mod_revision)
    return topic, region_id(region), key


class DatanodeTable(NamedTuple):
    """What a datanode's table says of the regions of one table.

    Attributes:
        topics: by region id; None: its WAL is in no topic.
        is_external: an external table, which reads files and writes no log.
        unlogged: the regions of which what is written goes to no log: since their table was made, and they have no
            topic, or since somebody altered it, and what was before is in their topics.
        logged_again: those of which that was so once, and that may still have such rows in memory.
    """

    topics: dict[int, str | None]
    is_external: bool
    unlogged: frozenset[int] = frozenset()
    logged_again: frozenset[int] = frozenset()


def read_datanode_table(rest: str, value: str) -> DatanodeTable:
    """From `<datanode>/<table>` and the value.

    The options name every region of the table, those on other datanodes too; a region without options has a local WAL.
    An external table is given topics as any other (`src/common/meta/src/ddl/table_meta.rs`, `create_wal_options`), and
    its engine (`src/file-engine`) has no log at all: it reports a flushed entry id of 0 for ever. `skip_wal` is written
    down before any region follows it (`src/common/meta/src/ddl/alter_table.rs`); newer versions take it back, and write
    what was skipped nowhere (their pull request 9130). Of a table that is made with it the provider is `noop`
    (`src/common/meta/src/wal_provider.rs`), or, in newer versions, a topic that nobody writes to.
    """
    data, table = _object(value), int(rest.rpartition("/")[2])
    options = {int(number): _wal_options(each) for number, each in (data.get("region_wal_options") or {}).items()}
    numbers = {*options, *data["regions"], *data.get("follower_regions", ())}
    topics = {region_of(table, number): _topic(options.get(number)) for number in numbers}
    if data.get("engine") == _FILE_ENGINE:
        return DatanodeTable(dict.fromkeys(topics), is_external=True)
    skip_wal = (data.get("region_options") or {}).get("skip_wal")
    unlogged = frozenset(region_of(table, n) for n in numbers if skip_wal == "true" or _has_no_log(options.get(n)))
    again = frozenset[int]() if skip_wal is None else frozenset(topics) - unlogged
    return DatanodeTable(topics, is_external=False, unlogged=unlogged, logged_again=again)


def read_table_route(value: str, mod_revision: int) -> Iterator[tuple[int, Route]]:
    """Region id and route. A logical table has none: its rows are in a physical one's regions.

    Each change of a table's routes raises their version, from 0: while it is 0 no repartition has begun, and so no
    region was ever staged. One that failed leaves no other trace (ADR 79).
    """
    data = _object(value)
    if data.get("type") == "logical":
        return
    may_have_staged = _u64(data["version"]) > 0
    for region in data["region_routes"]:
        leader = region.get("leader_peer")
        state = region.get("leader_state", region.get("leader_status"))
        route = Route(
            region_id(leader["id"]) if leader else None,
            _STATES.get(state, LeaderState.UNKNOWN),
            mod_revision,
            tuple(sorted({region_id(peer["id"]) for peer in region.get("follower_peers") or ()})),
            may_have_staged,
        )
        yield region_id(region["region"]["id"]), route


def read_time(value: str) -> datetime | None:
    """Milliseconds since 1970; None: it is no time. It is only told, so it stops nobody."""
    try:
        return datetime.fromtimestamp(int(value) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def read_address(rest: str, value: str) -> tuple[int, str]:
    """Id and address of a datanode."""
    return int(rest), str(_object(value)["peer"]["addr"])


def region_of(table: int, number: int) -> int:
    """The region id: table id and region number, 32 bits each."""
    return region_id(table << 32 | number)


def region_id(value: object) -> int:
    """A u64, from JSON or from a key."""
    return _u64(int(value) if isinstance(value, str) and value.isdecimal() else value)


def entry_id(value: object) -> int:
    """A u64; a float or a negative number makes no sense."""
    return _u64(value)


def _entry_or_none(value: object) -> int | None:
    return None if value is None else entry_id(value)


def _u64(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_U64:
        raise ValueError(f"{value!r} is no u64")
    return value


def _has_no_log(options: dict[str, Any] | None) -> bool:
    return options is not None and options.get("wal.provider") == _NO_LOG


def _topic(options: dict[str, Any] | None) -> str | None:
    provider = options.get("wal.provider") if options else None
    if not options or provider in _NO_TOPIC:
        return None
    if provider != _KAFKA:
        raise ValueError(f"unknown WAL provider {provider!r}")
    return str(options["wal.kafka.topic"])


def _wal_options(value: object) -> dict[str, Any]:
    """A text of JSON, as all versions write them, or the object itself, which newer ones read as well.

    GreptimeDB's `src/common/meta/src/wal_provider.rs`, `WalOptionsCompat`.
    """
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise TypeError("WAL options that are neither a text nor an object")
    return _object(value)


def _object(value: str) -> dict[str, Any]:
    """A JSON object; empty or null means an empty one, as in values of old versions."""
    data: object = msgspec.json.decode(value) if value else None  # a fourth of the time: each region has some
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise TypeError("no JSON object")
    return data
