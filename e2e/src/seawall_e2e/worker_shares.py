"""What each worker of pytest-xdist did, and how busy the machine was: where the time of a whole run went.

The longest row of tests is how long all takes, whatever the others save. Where the machine has nothing to do while a
row goes on, it should be two rows; where it is busy, only less work helps.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

SINGLE = "no group"
TICKS = os.sysconf("SC_CLK_TCK")
DEAREST = 20
"""So many files are named."""
SELDOM = 1.0
"""Seconds between two looks at the processes of one worker: a look reads all that there are."""


class Used(NamedTuple):
    """Of the machine since it started, in its own units: what was worked, and what there was."""

    busy: int
    all: int


def used_of(stat: str) -> Used:
    """By /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; what guests use is in the first two."""
    numbers = [int(number) for number in stat.split("\n", 1)[0].split()[1:9]]
    idle = sum(numbers[3:5])
    return Used(sum(numbers) - idle, sum(numbers))


def read_used() -> Used:
    """As it is now."""
    return used_of(Path("/proc/stat").read_text())


class _Stat(NamedTuple):
    parent: int
    ticks: int


def processor_seconds(pid: int) -> float:
    """Of a process and of all that it has started: while they run, and once they have ended and were waited for."""
    found = dict[int, _Stat]()
    children: defaultdict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            if folder.name.isdigit():
                stat = _stat_of((folder / "stat").read_text())
                found[int(folder.name)] = stat
                children[stat.parent].append(int(folder.name))
    ticks, todo = 0, [pid] if pid in found else []
    while todo:
        each = todo.pop()
        ticks += found[each].ticks
        todo += children[each]
    return ticks / TICKS


def _stat_of(text: str) -> _Stat:
    """By proc(5): user and system time, its own and that of children that were waited for."""
    fields = text.rpartition(")")[2].split()
    return _Stat(int(fields[1]), sum(map(int, fields[11:15])))


class WorkerShares:
    """A plugin of the controller.

    Args:
        clock, used: the time in seconds, and how much of the machine is used by then.
        cost: the processor seconds of a process and of all that it has started.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        used: Callable[[], Used] = read_used,
        cost: Callable[[int], float] = processor_seconds,
    ) -> None:
        self._clock, self._used, self._cost_of = clock, used, cost
        self._began, self._at_first = clock(), used()
        self._spent: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._cost: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._cost_of_files: defaultdict[str, float] = defaultdict(float)
        self._looked: dict[str, tuple[float, str]] = {}
        self._ended: dict[str, tuple[float, Used]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a setup, a test or a teardown."""
        node = getattr(report, "node", None)
        worker = "alone" if node is None else node.gateway.id
        # xdist tells no pid; its workers are children of this process, each started by execnet.
        pid = os.getpid() if node is None else node.gateway._io.popen.pid  # noqa: SLF001 - see above
        self.note(worker, pid, report.nodeid, report.duration)

    def note(self, worker: str, pid: int, node_id: str, seconds: float) -> None:
        """What one worker has done by now. xdist puts the group behind the name and the parameters of a test."""
        _, is_in_group, group = node_id.rpartition("]")[2].rpartition("@")
        group = group if is_in_group else SINGLE
        self._spent[worker][group] += seconds
        now = self._clock() - self._began
        self._ended[worker] = now, self._used()
        looked = self._looked.get(worker)
        if looked is None or looked[1] != group or now >= looked[0] + SELDOM:
            # A worker that has ended tells nothing more.
            cost = max(0.0, self._cost_of(pid) - sum(self._cost[worker].values()))
            self._cost[worker][group] += cost
            self._cost_of_files[node_id.partition("::")[0]] += cost
            self._looked[worker] = now, group

    def lines(self) -> Sequence[str]:
        """One for each worker, and how busy the machine was: until the first had nothing left, and then."""
        lines = list[str]()
        for worker, spent in sorted(self._spent.items()):
            most_first = sorted(spent.items(), key=lambda each: -each[1])
            cost = self._cost[worker]
            groups = ", ".join(f"{group} {seconds:.0f} ({cost[group]:.0f})" for group, seconds in most_first)
            lines.append(f"{worker} until {self._ended[worker][0]:.0f} s: {groups}")
        if self._ended:
            first, at_end = min(self._ended.values()), self._used()
            until, then = _share(self._at_first, first[1]), _share(first[1], at_end)
            lines.append(f"busy until {first[0]:.0f} s: {until} % of all processors; then: {then} %")
            workers = sum(sum(cost.values()) for cost in self._cost.values())
            other = (at_end.busy - self._at_first.busy) / TICKS - workers
            lines.append(f"processor seconds: workers and what they started {workers:.0f}, all else {other:.0f}")
            dearest = sorted(self._cost_of_files.items(), key=lambda each: -each[1])[:DEAREST]
            lines.append("of these the dearest files: " + ", ".join(f"{file} {cost:.0f}" for file, cost in dearest))
        return lines

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints it."""
        terminalreporter.section("seconds of workers (of processors), by groups of tests")
        for line in self.lines():
            terminalreporter.line(line)


def _share(since: Used, now: Used) -> int:
    return round(100 * (now.busy - since.busy) / max(1, now.all - since.all))
