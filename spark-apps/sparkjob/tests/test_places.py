"""How far a range was read, whatever the client says in between: nothing that cannot be read is a gap of the log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import KafkaError

from sparkjob.errors import Denied, Interrupted
from sparkjob.wire.reader import Range, RangeGone, _Place
from sparkjob.wire.trouble import Trouble
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

END, STRANGE = KafkaError._PARTITION_EOF, KafkaError.UNKNOWN
WANTED = Range("wal", 3, 6)


@dataclass(frozen=True)
class Said:
    """What the client gives: a record, or an error of the topic or of the group."""

    at: int
    code: int | None = None
    of_topic: bool = True

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code)

    def offset(self) -> int:
        return self.at

    def topic(self) -> str | None:
        return "wal" if self.of_topic else None


def offsets(place: _Place, *said: Any) -> list[int | None]:
    return [message.offset() for message in place.take(said)]


def test_a_range_ends_with_its_last_record() -> None:
    place = _Place(WANTED)
    assert offsets(place, Said(3), Said(4)) == [3, 4]
    assert not place.is_over
    assert offsets(place, Said(5)) == [5]
    assert place.is_over


@pytest.mark.parametrize("later", [Said(6), Said(9), Said(6, END), Said(9, END)])
def test_a_gap_at_its_end_ends_it(later: Said) -> None:
    place = _Place(WANTED)
    assert offsets(place, Said(4), later) == [4]
    assert place.is_over


def test_the_end_of_the_log_before_it_ends_nothing() -> None:
    place = _Place(WANTED)
    assert offsets(place, Said(3), Said(4, END)) == [3]
    assert (place.expected, place.is_over) == (4, False)


def test_an_empty_range_is_over() -> None:
    assert _Place(Range("wal", 3, 3)).is_over


def nothing_is_passed_over(*said: Said) -> None:
    place = _Place(WANTED)
    with pytest.raises(Interrupted, match=r"^topic wal cannot be read at offset 4: "):
        place.take([Said(3), *said])  # type: ignore[list-item]  # what is asked of a message


@pytest.mark.parametrize("later", [Said(5), Said(6), Said(6, END)])
def test_what_cannot_be_read_is_no_gap(later: Said) -> None:
    nothing_is_passed_over(Said(4, STRANGE), later)


@pytest.mark.parametrize("code", [KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION, KafkaError.INVALID_MSG])
def test_damage_is_told_at_once(code: int) -> None:
    nothing_is_passed_over(Said(4, code))


def test_what_passes_is_forgotten_and_what_is_said_of_the_group_is_nobodys_concern() -> None:
    of_group = Said(-1001, KafkaError.GROUP_AUTHORIZATION_FAILED, of_topic=False)
    assert offsets(_Place(WANTED), Said(3, STRANGE), Said(3), Said(5)) == [3, 5]
    assert offsets(_Place(WANTED), of_group, Said(4), of_group, Said(5)) == [4, 5]


def silence_is_explained() -> None:
    place, quiet = _Place(WANTED), _Place(WANTED)
    place.take([Said(3), Said(4, STRANGE)])  # type: ignore[list-item]  # as above
    assert re.match("topic wal cannot be read at offset 4: ", str(place.explained(Trouble())))
    assert "one that is open hides what follows" in str(quiet.explained(Trouble()))
    unconnected, refused = Trouble(), Trouble()
    unconnected(KafkaError(KafkaError._RESOLVE))
    unconnected(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    assert str(quiet.explained(unconnected)).endswith("in time: Local: Host resolution failure")
    refused(KafkaError(KafkaError._AUTHENTICATION))
    refused(KafkaError(KafkaError._TRANSPORT))
    assert isinstance(quiet.explained(refused), Denied)


def test_silence_is_explained() -> None:
    silence_is_explained()


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (KafkaError.OFFSET_OUT_OF_RANGE, RangeGone),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, RangeGone),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Denied),
    ],
)
def test_a_log_that_is_not_there_or_not_ours_to_read_is_told(code: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        offsets(_Place(WANTED), Said(3, code))


def test_no_offset_comes_twice() -> None:
    with pytest.raises(Interrupted, match="topic wal gave offset 3 after 3"):
        offsets(_Place(WANTED), Said(3), Said(3))


def test_every_guard_is_needed() -> None:
    mutants = [
        (
            rewritten(_Place, "_go_to", "self._said is not None", "False"),
            lambda: nothing_is_passed_over(Said(4, STRANGE), Said(5)),
        ),
        (
            rewritten(_Place, "_end", "self._go_to(self._wanted.end)", "pass"),
            lambda: nothing_is_passed_over(Said(4, STRANGE), Said(6, END)),
        ),
        (
            rewritten(_Place, "_hear", "code in _DAMAGE", "False"),
            lambda: nothing_is_passed_over(Said(4, KafkaError._BAD_MSG)),
        ),
        (rewritten(_Place, "explained", "self._said is not None", "False"), silence_is_explained),
        (rewritten(Trouble, "__call__", "and not self.is_final", ""), silence_is_explained),
    ]
    assert find_survivors(mutants) == []
