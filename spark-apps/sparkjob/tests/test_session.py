"""What is said of an error of Spark's: what was raised in a task, and none of the stacks around it."""

from __future__ import annotations

import pytest

from sparkjob.session import raised_in, sentence_of

INSIDE = """Traceback (most recent call last):
  File "store.py", line 69, in put
    with self._asking(path), local.open("rb") as source:
OSError: AWS Error SLOW_DOWN: Please reduce your request rate.

The above exception was the direct cause of the following exception:

"""
OUTSIDE = """Traceback (most recent call last):
  File "worker.py", line 2044, in main
    process()
    ^^^^^^^^^
{}
"""


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("sparkjob.errors.Interrupted: the store does not answer", "the store does not answer"),
        ("sparkjob.wire.reader.RangeGone: topic wal is gone", "topic wal is gone"),
        ("OSError: [Errno 28] No space left on device", "OSError: [Errno 28] No space left on device"),
        ("ValueError: the first line\\n  and a second", "ValueError: the first line"),
        ("KeyError", "KeyError"),
    ],
)
def test_of_tracebacks_the_last_error_is_told(raised: str, said: str) -> None:
    text = INSIDE + OUTSIDE.format(raised.replace("\\n", "\n"))
    assert raised_in(text) == said
    worker = f"\n  An exception was thrown from the Python worker. Please see the stack trace below.\n{text}"
    assert sentence_of(RuntimeError(worker)) == said


def test_without_a_traceback_it_is_the_first_line() -> None:
    assert raised_in("no more\nof it") is None
    assert sentence_of(RuntimeError("no more\nof it")) == "no more"
    assert raised_in("Traceback (most recent call last):\n  cut here") is None
