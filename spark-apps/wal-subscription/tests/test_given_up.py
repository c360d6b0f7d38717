"""Entries that are open for too long hold the log no longer, and what comes of them after all is told once."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import pytest
from decoders import REGION, decoder, log_of, rows_in, selecting
from hypothesis import given, settings
from hypothesis import strategies as st
from record_logs import CPU, MEM, Expected, Open, Written

from sparkjob.wire.records import Record as LogRecord
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription.records import decoder as decoders
from wal_subscription.records.decoder import OPEN_MILLISECONDS, Decoder, Poison
from wal_subscription.records.encoding import Row
from wal_subscription.records.progress import GivenUp
from walrecord.region import region_id

LONG = OPEN_MILLISECONDS + 1


class Begun(NamedTuple):
    """An entry, where it begins, and what is left of it."""

    region: int
    first: int
    open: Open


@dataclass
class Timed:
    """A log in which time goes by, and its entries.

    Attributes:
        times: of its records.
        ends: the offset of the Last of each entry that has one, by that of its First.
    """

    log: Written = field(default_factory=Written)
    times: list[int] = field(default_factory=list)
    begun: list[Begun] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    now: int = 0

    @property
    def records(self) -> list[LogRecord]:
        """As they are read."""
        return [
            record._replace(timestamp=time) for record, time in zip(log_of(self.log.records), self.times, strict=True)
        ]

    def begin(self, number: int) -> Open:
        """An entry of three parts at least."""
        entry = self.log.begin(CPU, 3, number=number)
        self.begun.append(Begun(region_id(CPU, number), len(self.log.records), entry))
        self.write(entry, 1)
        return entry

    def write(self, entry: Open, parts: int | None = None) -> None:
        """Goes on with one."""
        if self.log.write(entry, parts):
            self.ends |= {begun.first: len(self.log.records) - 1 for begun in self.begun if begun.open is entry}
        self._stamp()

    def whole(self, number: int = 0) -> None:
        """An entry in one record."""
        self.log.entry(CPU, number=number)
        self._stamp()

    def _stamp(self) -> None:
        self.times += [self.now] * (len(self.log.records) - len(self.times))


@st.composite
def timed_logs(draw: st.DrawFn) -> Timed:
    """Entries of four regions; some are superseded by others, some never end, and some after a long time."""
    made, is_open = Timed(), dict[int, Open]()
    for _ in range(draw(st.integers(1, 20))):
        made.now += draw(st.sampled_from([0, 0, LONG // 2, LONG]))
        number = draw(st.integers(0, 3))
        match draw(st.sampled_from(["whole", "begin", "go on", "go on"])):
            case "whole":
                made.whole(number)
            case "go on" if number in is_open and (entry := is_open[number]).parts:
                made.write(entry, draw(st.integers(1, len(entry.parts))))
            case _:
                is_open[number] = made.begin(number)
    return made


@dataclass
class Reading:
    """Decoders, one after the other."""

    records: list[LogRecord]
    rows: list[tuple[int, Expected]] = field(default_factory=list)
    told: list[tuple[int | None, int]] = field(default_factory=list)
    now: Decoder[Row] = field(default_factory=decoder)
    read_from: int = 0

    def read(self, start: int, end: int, *, anew: bool) -> None:
        """What lies between, and commits; `anew`: in another process."""
        if anew:
            self.now = decoder(start, given_up=self.now.given_up)
            start = self.read_from
        for record in self.records[start:end]:
            try:
                self.rows += [(record.offset, row) for row in rows_in(self.now, [record])]
            except Poison as poison:
                self.told.append((poison.region, poison.offset))
                self.now.pass_over(poison)
        self.now.give_up()
        self.read_from = self.now.read_from(end)


@given(timed_logs(), st.data())
@settings(max_examples=150, deadline=None)
def test_each_entry_that_ends_is_handed_on_or_told_once_wherever_it_is_cut(made: Timed, data: st.DataObject) -> None:
    end = len(made.times)
    cuts = sorted({0, end, *data.draw(st.sets(st.integers(0, end), max_size=5))})
    reading = Reading(made.records)
    for start, stop in pairwise(cuts):
        reading.read(start, stop, anew=data.draw(st.booleans()))
    told = set[int]()
    for region, first, _ in made.begun:
        later = [other.first for other in made.begun if other.region == region and other.first > first]
        where = [at for of, at in reading.told if of == region and first < at < min(later, default=end)]
        assert len(where) <= 1
        if where:
            told.add(first)
            was_open = [cut for cut in cuts if first < cut <= where[0]]
            assert any(max(made.times[:cut]) - made.times[first] > OPEN_MILLISECONDS for cut in was_open)
    assert len(told) == len(reading.told)
    gone = {made.ends.get(first) for first in told}
    assert reading.rows == [(at, row) for at, row in made.log.rows if at not in gone]


def late(parts: int = 2) -> tuple[Timed, Open]:
    """An entry whose First is older than what is waited for, and another one."""
    made = Timed()
    entry = made.begin(0)
    made.write(entry, parts - 1)
    made.now = LONG
    made.whole(1)
    return made, entry


def test_an_entry_that_never_ends_is_not_waited_for_for_ever() -> None:
    made, _ = late()
    made.times[-1] = OPEN_MILLISECONDS
    reading = Reading(made.records)
    reading.read(0, 3, anew=False)
    assert (reading.read_from, reading.now.given_up) == (0, ())
    made.whole(1)
    reading.records = made.records
    reading.read(3, 4, anew=False)
    assert (reading.read_from, reading.now.given_up) == (4, (GivenUp(REGION, 0),))


def test_its_end_is_told_with_where_it_began_unless_it_is_in_hand() -> None:
    made, entry = late()
    made.write(entry)
    for anew in (True, False):
        reading = Reading(made.records)
        reading.read(0, 3, anew=False)
        reading.read(3, len(made.records), anew=anew)
        assert reading.told == ([(REGION, 3)] if anew else [])
        assert reading.rows == made.log.rows[: 1 if anew else None]
        assert reading.now.given_up == ()
    with pytest.raises(Poison, match="its entry began at offset 0, and was given up") as told:
        decoder(3, given_up=[GivenUp(REGION, 0)]).rows(made.records[3])
    assert (told.value.offset, told.value.begins, told.value.is_part) == (3, 3, True)


def test_one_in_hand_that_gives_no_rows_is_found_again_by_who_has_not() -> None:
    made, entry = late()
    del entry.parts[:-1]  # of the middle
    made.write(entry)
    found = decoder()
    rows_in(found, made.records[:3])
    found.give_up()
    with pytest.raises(Poison, match="parts from offset 0 on") as told:
        found.rows(made.records[3])
    assert told.value.begins == 3, "what is before it may be gone"
    assert found.given_up == (GivenUp(REGION, 0),)
    found.pass_over(told.value)
    assert not found.given_up


def test_an_end_that_comes_again_is_none() -> None:
    made, entry = late()
    made.write(entry)
    made.log.records.append(made.log.records[-1])
    made._stamp()
    reading = Reading(made.records)
    reading.read(0, 3, anew=False)
    reading.read(3, len(made.records), anew=False)
    assert reading.told == []
    assert len(reading.rows) == 4


def test_a_new_entry_of_the_region_takes_its_place_and_one_in_one_record_does_not() -> None:
    """As in the database: its reader has a buffer of the parts, which a whole entry does not touch."""
    made, _ = late()
    made.whole(0)
    found = decoder(3, given_up=[GivenUp(REGION, 0)])
    assert len(rows_in(found, made.records[3:])) == 1
    assert found.given_up == (GivenUp(REGION, 0),)
    bad = made.records[3]._replace(offset=4, value=b"\xff")
    with pytest.raises(Poison) as told:
        found.rows(bad)
    found.pass_over(told.value)
    assert found.given_up == (GivenUp(REGION, 0),)
    other = made.begin(0)
    made.write(other)
    assert len(rows_in(found, made.records[4:])) == 3
    assert not found.given_up


def test_of_a_table_that_is_not_selected_it_is_known_too() -> None:
    made, entry = late()
    made.write(entry)
    before = decoder(selection=selecting(MEM))
    assert rows_in(before, made.records[:3]) == []
    before.give_up()
    assert before.given_up == (GivenUp(REGION, 0),)
    with pytest.raises(Poison):
        decoder(3, given_up=before.given_up).rows(made.records[3])
    not_selected = decoder(3, selecting(MEM), given_up=before.given_up)
    assert rows_in(not_selected, made.records[3:]) == []
    assert not_selected.given_up == ()


def test_no_more_are_given_up_than_progress_can_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoders, "MOST_GIVEN_UP", 2)
    made = Timed()
    for number in range(3):
        made.begin(number)
    made.now = LONG
    made.whole(4)
    reading = Reading(made.records)
    reading.read(0, 4, anew=False)
    assert reading.now.given_up == (GivenUp(region_id(CPU, 0), 0), GivenUp(region_id(CPU, 1), 1))
    assert reading.read_from == 2
    reading.read(4, 4, anew=True)
    assert (len(reading.now.given_up), reading.read_from) == (2, 2)


def under_its_limit() -> None:
    """As the test, for mutants."""
    with pytest.MonkeyPatch.context() as patch:
        test_no_more_are_given_up_than_progress_can_name(patch)


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(Decoder, "__init__", "for entry in given_up", "for entry in ()"),
        test_its_end_is_told_with_where_it_began_unless_it_is_in_hand,
    ),
    (
        rewritten(Decoder, "_part", "given_up != begins", "True"),
        test_its_end_is_told_with_where_it_began_unless_it_is_in_hand,
    ),
    (
        rewritten(Decoder, "read_from", "if self._given_up.get(region) != offset", ""),
        test_an_entry_that_never_ends_is_not_waited_for_for_ever,
    ),
    (
        rewritten(Decoder, "give_up", "time < oldest", "True"),
        test_an_entry_that_never_ends_is_not_waited_for_for_ever,
    ),
    (rewritten(Decoder, "give_up", "len(self._given_up) < MOST_GIVEN_UP", "True"), under_its_limit),
    (
        rewritten(Decoder, "_poison", "None if is_kept else begins", "begins"),
        test_one_in_hand_that_gives_no_rows_is_found_again_by_who_has_not,
    ),
    (
        rewritten(Decoder, "pass_over", "poison.is_part and", ""),
        test_a_new_entry_of_the_region_takes_its_place_and_one_in_one_record_does_not,
    ),
    (
        rewritten(Decoder, "rows", "self._given_up.pop(region, None)", "pass"),
        test_an_end_that_comes_again_is_none,
    ),
)


def test_no_rule_can_be_taken_away() -> None:
    assert find_survivors(MUTANTS) == []
