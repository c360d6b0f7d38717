"""The Reassembler and the database agree on every log: 10,000 random ones for each version, each with faults."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random

import pytest
from database_reader import RELEASES, Emitted, Part, read_topic

from walrecord import (
    AmbiguousLast,
    Entry,
    Finding,
    First,
    Full,
    IllegalSequence,
    InvalidEntry,
    Last,
    Legal,
    Middle,
    PartsDoNotJoin,
    Reassembler,
    RecordKey,
    RecordType,
    UnfinishedEntry,
    decode_entry,
    drops_repeated_middle,
    encode_entry,
    encode_key,
)
from walrecord.pb.wal_pb2 import Mutation, Row, Rows, Value, WalEntry

CASES = 10_000
REGIONS = (1, 2)
_TYPES: dict[str, Callable[[int], RecordType]] = {
    "Full": lambda _: Full(),
    "First": lambda _: First(),
    "Middle": Middle,
    "Last": lambda _: Last(),
}
Fault = Callable[[Random, list[Part]], None]


@lru_cache
def payload(number: int) -> bytes:
    """An entry of about fifty bytes, no two alike."""
    rows = Rows(rows=[Row(values=[Value(text=f"{number:>40}")])])
    return encode_entry(WalEntry(mutations=[Mutation(op_type=Mutation.PUT, sequence=number, rows=rows)]))


@lru_cache
def key_of(region: int, kind: str, number: int) -> bytes:
    """A record's key."""
    return encode_key(RecordKey(region_id=region, type=_TYPES[kind](number)))


@lru_cache
def in_parts(region: int, number: int, parts: int) -> tuple[Part, ...]:
    """An entry as the database writes it."""
    content = payload(number)
    if parts == 1:
        return ((region, "Full", 0, content),)
    size = -(-len(content) // parts)
    cut = [content[at : at + size] for at in range(0, len(content), size)]
    middles = [(region, "Middle", place, part) for place, part in enumerate(cut[1:-1], 1)]
    return ((region, "First", 0, cut[0]), *middles, (region, "Last", 0, cut[-1]))


def written(random: Random) -> list[Part]:
    """A healthy log: a few entries of two regions, whose parts may interleave."""
    queues = [
        [
            part
            for _ in range(random.randint(1, 2))
            for part in in_parts(region, random.randint(1, 500), random.randint(1, 5))
        ]
        for region in REGIONS
    ]
    log: list[Part] = []
    while any(queues):
        queue = random.choice([queue for queue in queues if queue])
        log.append(queue.pop(0))
    return log


def _repeat_block(random: Random, log: list[Part]) -> None:
    start = random.randrange(len(log))
    end = min(len(log), start + random.randint(1, 4))
    log[end:end] = log[start:end]


def _repeat_later(random: Random, log: list[Part]) -> None:
    place = random.randrange(len(log))
    log.insert(random.randint(place, len(log)), log[place])


def _swap(random: Random, log: list[Part]) -> None:
    place = random.randrange(max(len(log) - 1, 1))
    log[place : place + 2] = log[place : place + 2][::-1]


def _drop(random: Random, log: list[Part]) -> None:
    if len(log) > 1:
        del log[random.randrange(len(log))]


def _flip(random: Random, log: list[Part]) -> None:
    place = random.randrange(len(log))
    region, kind, number, value = log[place]
    at = random.randrange(len(value))
    log[place] = (region, kind, number, value[:at] + bytes([value[at] ^ 1 << random.randrange(8)]) + value[at + 1 :])


def _other_number(random: Random, log: list[Part]) -> None:
    place = random.randrange(len(log))
    region, kind, _, value = log[place]
    if kind == "Middle":
        log[place] = (region, kind, random.randint(1, 4), value)


FAULTS: tuple[Fault, ...] = (_repeat_block, _repeat_later, _swap, _drop, _flip, _other_number)


def harmed(random: Random) -> list[Part]:
    """A log with none to three faults."""
    log = written(random)
    for _ in range(random.randint(0, 3)):
        random.choice(FAULTS)(random, log)
    return log


def reassembled(log: list[Part], version: str) -> tuple[list[Entry], list[tuple[int, Finding]]]:
    """What the Reassembler gives, with the offset at which each finding was told."""
    reassembler = Reassembler(drops_repeats=drops_repeated_middle(version))
    entries, findings = list[Entry](), list[tuple[int, Finding]]()
    for offset, (region, kind, number, value) in enumerate(log):
        outcome = reassembler.feed(offset, key_of(region, kind, number), value)
        entries += [outcome.entry] if outcome.entry else []
        findings += [(offset, finding) for finding in outcome.findings]
    return entries, findings


def opens(emitted: Emitted) -> bool:
    """Whether a complete entry is a WalEntry."""
    try:
        decode_entry(emitted[2])
    except InvalidEntry:
        return False
    return True


def disagreement(log: list[Part], version: str) -> str | None:
    """In what the two differ."""
    theirs = read_topic(log, version)
    entries, findings = reassembled(log, version)
    end = len(log) if theirs.illegal_at is None else theirs.illegal_at
    illegal = next((offset for offset, found in findings if isinstance(found, IllegalSequence)), None)
    if illegal != theirs.illegal_at:
        return f"illegal at {illegal}, and the database ends at {theirs.illegal_at}"
    ours = [(entry.region_id, entry.entry_id, entry.payload) for entry in entries if entry.entry_id < end]
    refused = [offset for offset, found in findings if isinstance(found, PartsDoNotJoin) and offset < end]
    given = [emitted for emitted in theirs.complete if emitted[1] not in refused]
    if ours != given:
        return f"entries {ours}, and the database gives {given}"
    if any(opens(emitted) for emitted in theirs.complete if emitted[1] in refused):
        return f"refused {refused}, which the database decodes"
    return None


@pytest.mark.parametrize("version", RELEASES)
def test_no_log_is_read_otherwise_than_by_the_database(version: str) -> None:
    random = Random(f"cases of {version}")  # noqa: S311 - the same each time
    bad: list[str] = []
    refused = 0
    for _ in range(CASES):
        log = harmed(random)
        refused += read_topic(log, version).illegal_at is not None
        if (why := disagreement(log, version)) is not None:
            bad.append(f"{why}: {log}")
    print(f"version {version}: {CASES} logs, {refused} with an illegal sequence, {len(bad)} disagreements")  # noqa: T201
    assert bad == []
    assert refused > CASES // 50, "the cases must have what they are for"


@pytest.mark.parametrize("version", RELEASES)
def test_what_a_producer_sends_again_is_no_loss_where_the_database_gets_along_with_it(version: str) -> None:
    """Its batches hold one great part at most: a Last and what follows it up to the next First, or one Middle."""
    random = Random(f"repeats of {version}")  # noqa: S311 - the same each time
    tried = 0
    for _ in range(CASES // 10):
        entries = [part for _ in range(3) for part in in_parts(1, random.randint(1, 500), random.randint(1, 5))]
        place = random.randrange(len(entries))
        end = place + 1
        if entries[place][1] in {"Full", "Last"} and random.random() < 0.5:
            end = min(end + 1, len(entries))
        log = [*entries[:end], *entries[place:]]
        theirs = read_topic(log, version)
        if theirs.illegal_at is not None or not all(map(opens, theirs.complete)):
            continue
        tried += 1
        _, findings = reassembled(log, version)
        assert all(isinstance(found, Legal | AmbiguousLast) for _, found in findings), log
    assert tried > CASES // 20


@pytest.mark.parametrize(
    ("log", "opens_before", "opens_since"),
    [
        ("F 1 2 3 L", True, True),
        ("F 1 1 2 L", False, True),
        ("F 2 1 3 L", False, False),
        ("F 1 2 1 2 L", False, False),
        ("F 1 F 2 L", False, False),
        ("F F 1 2 L", True, True),
        ("F 1 2 L 1 2 L", True, True),
        ("F 1 2 L 2 1 L", False, False),
        ("3 4 L F 1 L", True, True),
    ],
)
def test_the_cases_that_were_run_or_read(log: str, opens_before: bool, opens_since: bool) -> None:  # noqa: FBT001
    names = {"F": "First", "L": "Last"}
    parts: list[Part] = [
        (1, names.get(word, "Middle"), int(word) if word.isdigit() else 0, word.encode()) for word in log.split()
    ]
    for version, drops in RELEASES.items():
        is_open = read_topic(parts, version).illegal_at is None
        assert is_open == (opens_since if drops else opens_before)
        _, findings = reassembled(parts, version)
        assert is_open == (not any(isinstance(found, IllegalSequence) for _, found in findings))


@pytest.mark.parametrize(
    ("version", "drops"),
    [
        (None, False),
        ("", False),
        ("0.17", False),
        ("1.0.2", False),
        ("1.1", False),
        ("1.1.2", False),
        ("1.1.3", True),
        ("v1.1.4", True),
        ("1.1.3-nightly-20260713", False),
        ("1.2", True),
        ("1.10.0", True),
        ("2.0", True),
    ],
)
def test_a_version_that_is_not_known_is_the_strictest(version: str | None, drops: bool) -> None:  # noqa: FBT001
    assert drops_repeated_middle(version) == drops


def test_what_is_unfinished_after_an_illegal_sequence_is_not_told_again() -> None:
    parts = in_parts(1, 7, 5)
    log = [parts[0], parts[2], parts[3]]
    reassembler = Reassembler()
    for offset, (region, kind, number, value) in enumerate(log):
        reassembler.feed(offset, key_of(region, kind, number), value)
    assert reassembler.unfinished() == ()
    reassembler.feed(3, key_of(1, "First", 0), parts[0][3])
    assert reassembler.unfinished() == (UnfinishedEntry(1, 3, 3),)
