"""A process in a pod that answers questions."""

from __future__ import annotations

import json
import subprocess
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from seawall_e2e.commands import CommandFailed
from seawall_e2e.waiting import patience

ANSWER_SECONDS = 60.0


@dataclass(slots=True, weakref_slot=True)
class Shell:
    """One process in a pod, which is started when there is something to ask, and again if it ends.

    A process for each question would spend a hundred times longer on its start. It ends when nobody has this any more.

    Args:
        namespace, pod: where it runs.
        command: what reads questions from stdin, and answers each by `{"answer": …}` or `{"error": …}`: a line of JSON.
    """

    namespace: str
    pod: str
    command: Sequence[str]
    _process: subprocess.Popen[str] | None = None
    _end: Callable[[], object] = lambda: None
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, *words: object) -> Any:
        """The answer to a question, all of which may be repeated: whoever ended before answering is asked again."""
        with self._turn:
            answer = self._answer(words) or self._answer(words)
        if not answer:
            raise CommandFailed(self._words(), "ended without an answer twice", "")
        said = json.loads(answer)
        if "error" in said:
            raise CommandFailed(self._words(), "failed", f"{words}: {said['error']}")
        return said["answer"]

    def close(self) -> None:
        """Ends the process; it is started again when there is something to ask."""
        self._process = None
        self._end()

    def _answer(self, words: tuple[object, ...]) -> str:
        """Its line; empty when it ended, also in the middle of one, or was ended because it took too long."""
        process = self._running()
        if process.stdin is None or process.stdout is None:
            raise ValueError("a process with pipes has pipes")
        late = threading.Timer(ANSWER_SECONDS * patience(), process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps(words) + "\n")
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            late.cancel()
        if not answer.endswith("\n"):
            self.close()
            return ""
        return answer

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(self._words(), stdin=pipe, stdout=pipe, text=True, bufsize=1)
            self._end = weakref.finalize(self, _end, self._process)
        return self._process

    def _words(self) -> tuple[str, ...]:
        return ("kubectl", "-n", self.namespace, "exec", "-i", self.pod, "--", *self.command)


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(BrokenPipeError), process:  # leaving it writes what one that had ended was not given
        process.kill()
