"""What each answer of Kafka means for a log that is written at its own offsets; Kafka is in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError, for_code
from kafka.protocol.producer import InitProducerIdRequest

from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.batches import Batch, nulls
from sparkjob.wire.connection import PASSING
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_backup.restore import appender
from wal_backup.restore.appender import Appender, NotOurs

TOPIC, COUNT = "wal_0", 7
FINAL = (45, 46, 47, 59, 90)
"""The log is not what was written."""
NOT_AUTHORIZED = (29, 31)
Answer = tuple[int, int] | Exception
"""An error and the offset of the batch, or what happens instead of an answer."""


class FakeConnection:
    """Answers what it is told to, and after that appends."""

    def __init__(self, answers: Sequence[Answer], producer_error: int = 0) -> None:
        self.answers, self.end, self.producer_error = list(answers), 0, producer_error

    def ask(self, request: Any, *_: Any) -> Any:
        if isinstance(request, InitProducerIdRequest):
            return SimpleNamespace(error_code=self.producer_error, producer_id=7, producer_epoch=0)
        answer = self.answers.pop(0) if self.answers else (0, self.end)
        if isinstance(answer, Exception):
            raise answer
        code, offset = answer
        result = SimpleNamespace(error_code=code, error_message=None, base_offset=offset)
        return SimpleNamespace(responses=[SimpleNamespace(partition_responses=[result])])

    def leader(self, *_: Any) -> int:
        return 0

    def close(self) -> None:
        pass


class Log:
    """One that is written to through a connection of these answers."""

    def __init__(self, *answers: Answer, producer_error: int = 0) -> None:
        connection = FakeConnection(answers, producer_error)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(appender, "Connection", lambda _: connection)
            self.appender = Appender({}, TOPIC, "q1Sh-9_ISia_zwGINzRvyQ")
        self.connection = connection

    def append(self) -> int:
        """One batch; where the log ends then."""
        (batch,) = batches_of(COUNT)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(appender, "_PAUSE_SECONDS", 0.0)
            self.appender.append(batch)
        return self.appender.position


def batches_of(count: int) -> list[Batch]:
    return list(nulls(count, 0))


def ends(log: Log) -> type[Exception] | None:
    """How it ends to append to this log."""
    try:
        log.append()
    except (NotOurs, Interrupted, Refused) as error:
        return type(error)
    return None


def every_error() -> Mapping[int, type[Exception]]:
    """Of those that Kafka has, but for such as pass: what each means."""
    codes = [code for code in range(-1, 134) if code not in PASSING and code != 0]
    return {code: NotOurs if code in FINAL else Refused if code in NOT_AUTHORIZED else Interrupted for code in codes}


def test_each_error_of_kafka_says_who_is_to_act() -> None:
    """Only few mean that somebody else wrote, which ends a restore for good."""
    wanted = every_error()
    assert {code: ends(Log((code, -1))) for code in wanted} == wanted
    names = {for_code(code).__name__ for code, error in wanted.items() if error is NotOurs}
    assert names == {
        "OutOfOrderSequenceNumberError",
        "DuplicateSequenceNumberError",
        "InvalidProducerEpochError",
        "UnknownProducerIdError",
        "ProducerFencedError",
    }


@pytest.mark.parametrize("code", NOT_AUTHORIZED)
def test_a_user_that_may_not_write_is_told_at_once(code: int) -> None:
    with pytest.raises(Refused, match="may not write"):
        Log(producer_error=code).append()


def test_what_passes_is_sent_again() -> None:
    assert Log((19, -1), KafkaConnectionError("gone"), (6, -1), (0, 0)).append() == COUNT


def only_its_own_offset_counts() -> None:
    assert ends(Log((0, 1))) is NotOurs
    assert ends(Log((0, COUNT))) is NotOurs


def test_an_offset_of_somebody_elses_is_never_ours() -> None:
    only_its_own_offset_counts()


def a_batch_that_is_there_twice(*unanswered: Answer) -> type[Exception] | None:
    """Kafka appended it each time, and forgot the producer: the last answer has the offset of the last one."""
    return ends(Log(*unanswered, (0, COUNT * len(unanswered))))


def what_is_there_twice_is_ours() -> None:
    lost = KafkaConnectionError("the broker is gone")
    for first in (lost, OSError("reset"), (7, -1), (20, -1), (6, -1)):
        assert a_batch_that_is_there_twice(first) is Interrupted
    assert a_batch_that_is_there_twice(lost, lost) is Interrupted
    with pytest.raises(Interrupted, match=f"has {COUNT} records from offset 0 on twice: the answer to the first"):
        Log(lost, (0, COUNT)).append()


def what_cannot_be_ours_is_not() -> None:
    """Somebody else's records before ours, however many times it was sent."""
    lost = KafkaConnectionError("the broker is gone")
    for before in (1, COUNT - 1, COUNT + 1, 2 * COUNT):
        assert ends(Log(lost, (0, before))) is NotOurs
    assert ends(Log((19, -1), (0, COUNT))) is NotOurs, "nothing was appended the first time"
    log = Log(lost, (0, 0), (0, 2 * COUNT))
    assert log.append() == COUNT
    assert ends(log) is NotOurs, "the next batch was sent once"


def test_a_batch_whose_answer_was_lost_and_that_was_appended_again_is_tried_anew() -> None:
    what_is_there_twice_is_ours()


def test_what_was_sent_again_is_no_excuse_for_records_of_somebody_else() -> None:
    what_cannot_be_ours_is_not()


def test_no_guard_can_be_taken_away() -> None:
    def errors_are_told_apart() -> None:
        assert all(ends(Log((code, -1))) is error for code, error in every_error().items())

    mutants: tuple[Mutant, ...] = (
        (rewritten(Appender, "_trouble", "code in NOT_AUTHORIZED", "False"), errors_are_told_apart),
        (rewritten(Appender, "_trouble", "code in _ELSEWHERE", "True"), errors_are_told_apart),
        (rewritten(Appender, "_trouble", "code in _ELSEWHERE", "False"), errors_are_told_apart),
        (rewritten(Appender, "_require_offset", "found != self.position", "False"), only_its_own_offset_counts),
        (rewritten(Appender, "_require_offset", "rest == 0 and", "False and"), what_is_there_twice_is_ours),
        (rewritten(Appender, "_require_offset", "rest == 0 and", ""), what_cannot_be_ours_is_not),
        (rewritten(Appender, "_require_offset", "<= self._unsure", "< 9"), what_cannot_be_ours_is_not),
        (rewritten(Appender, "_try", "== _NOT_ENOUGH_REPLICAS", "< 0"), what_cannot_be_ours_is_not),
        (
            rewritten(Appender, "_try", "self.position + batch.count, 0", "self.position + batch.count, 1"),
            what_cannot_be_ours_is_not,
        ),
    )
    assert find_survivors(mutants) == []
