"""One question that many threads ask: all who asked before it was sent share its answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class _Answered(Generic[AnswerT]):
    """The newest answer, or what was raised instead, and how many times the question was sent with it."""

    number: int
    future: Future[AnswerT]


class SharedAnswers(Generic[AnswerT]):
    """Asks one question at a time, and for nobody by an answer that is older than their asking.

    Who asks while the question is on its way gets the answer to the next one, with all others who do.

    Args:
        ask: sends the question. What it raises is an answer, too: each who waits for silence would wait anew.
    """

    def __init__(self, ask: Callable[[], AnswerT]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._begun = 0
        self._waiting = 0
        self._newest: _Answered[AnswerT] | None = None

    def get(self) -> AnswerT:
        """An answer to the question, which was sent after this was called; raises what `ask` raised."""
        with self._lock:
            asked_before = self._begun
            self._waiting += 1
        try:
            with self._turn:
                newest = self._newest
                if newest is None or newest.number <= asked_before:
                    newest = self._newest = self._send()
            return newest.future.result()
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._newest = None  # an answer may be large, and would be too old for whoever asks next

    def _send(self) -> _Answered[AnswerT]:
        with self._lock:
            self._begun += 1
            answered = _Answered(self._begun, Future[AnswerT]())
        try:
            answered.future.set_result(self._ask())
        except Exception as error:  # noqa: BLE001 - whatever it is, all who share the question hear it
            answered.future.set_exception(error)
        return answered
