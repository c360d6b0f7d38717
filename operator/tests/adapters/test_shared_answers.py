"""One question of many threads: shared by all who asked before it was sent, and by nobody else."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from seawall.adapters.kafka.shared_answers import SharedAnswers


class Kafka:
    """Answers with the number of the question, when it is let."""

    def __init__(self) -> None:
        self.asked = itertools.count(1)
        self.sent = threading.Semaphore(0)
        self.answers = threading.Semaphore(0)

    def ask(self) -> int:
        number = next(self.asked)
        self.sent.release()
        assert self.answers.acquire(timeout=10)
        return number


def asking(shared: SharedAnswers[int], count: int) -> int:
    """Waits until so many threads ask or wait."""
    deadline = time.monotonic() + 10
    while shared._waiting < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return shared._waiting


def test_who_asks_while_the_question_is_on_its_way_gets_the_answer_to_the_next_with_all_others_who_do() -> None:
    kafka = Kafka()
    shared = SharedAnswers(kafka.ask)
    with ThreadPoolExecutor(10) as pool:
        first = pool.submit(shared.get)
        assert kafka.sent.acquire(timeout=10)
        later: list[Future[int]] = [pool.submit(shared.get) for _ in range(9)]
        assert asking(shared, 10) == 10
        for _ in range(2):
            kafka.answers.release()
        assert first.result(10) == 1
        assert {future.result(10) for future in later} == {2}
    assert next(kafka.asked) == 3


def test_an_answer_is_no_answer_to_who_asks_after_it() -> None:
    kafka = Kafka()
    shared = SharedAnswers(kafka.ask)
    for number in range(1, 4):
        kafka.answers.release()
        assert shared.get() == number


def test_an_answer_is_kept_only_while_somebody_waits() -> None:
    kafka = Kafka()
    kafka.answers.release()
    shared = SharedAnswers(kafka.ask)
    shared.get()
    assert shared._newest is None


def test_who_shares_a_question_hears_what_it_raised_and_the_next_asks_anew() -> None:
    kafka = Kafka()

    def ask() -> int:
        if kafka.ask() == 2:
            raise ValueError("silence")
        return 3

    shared = SharedAnswers(ask)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(shared.get)
        assert kafka.sent.acquire(timeout=10)
        later = [pool.submit(shared.get) for _ in range(3)]
        assert asking(shared, 4) == 4
        kafka.answers.release(2)
        assert first.result(10) == 3
        for future in later:
            with pytest.raises(ValueError, match="silence"):
                future.result(10)
    kafka.answers.release()
    assert shared.get() == 3
