"""A bound of a wait tells what hangs: on a machine that is busy it is longer, and it is never without end."""

from __future__ import annotations

import os

import pytest

from seawall_e2e import commands
from seawall_e2e.waiting import CROWDED, MOST_PATIENCE, WaitedInVain, patience, wait_until

PROCESSORS = os.cpu_count() or 1


@pytest.mark.parametrize(
    ("of_each_processor", "times"), [(0.0, 1.0), (CROWDED, 1.0), (2 * CROWDED, 2.0), (100.0, MOST_PATIENCE)]
)
def test_a_bound_grows_with_what_shares_the_processors(of_each_processor: float, times: float) -> None:
    assert patience(of_each_processor * PROCESSORS) == pytest.approx(times)


def test_what_never_comes_is_said_with_an_explanation() -> None:
    with pytest.raises(WaitedInVain, match=r"(?s)not within 0 s: the end\nnobody ends it"):
        wait_until(lambda: None, "the end", within=0.01, every=0.001, explain=lambda: "nobody ends it")


def test_the_bound_that_a_command_is_told_grows_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "patience", lambda: 2.5)
    assert commands.run("echo", "wait", "--timeout=10s", "--timeout=10m").split() == [
        "wait",
        "--timeout=25s",
        "--timeout=10m",
    ]
