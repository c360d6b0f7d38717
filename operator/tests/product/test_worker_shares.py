"""A run on several workers says where its time went."""

from __future__ import annotations

import os
import subprocess
import sys

from seawall_e2e.worker_shares import TICKS, Used, WorkerShares, processor_seconds, used_of

BURN = "import sys, time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\nsys.stdin.read()"
"""Twice what is asked for: the kernel counts in ticks, user and system time apart."""

STAT = """\
cpu  100 20 30 800 40 5 5 10 7 3
cpu0 50 10 15 400 20 2 3 5 3 1
intr 123
"""


def test_what_waits_for_a_disk_is_not_busy_and_guests_count_once() -> None:
    assert used_of(STAT) == Used(100 + 20 + 30 + 5 + 5 + 10, 1010)


def test_each_worker_says_what_it_did_and_the_machine_how_busy_it_was_while_some_had_nothing_left() -> None:
    moments = iter([0.0, 10.0, 20.0, 50.0])
    used = iter([Used(0, 0), Used(19, 20), Used(36, 40), Used(50, 100), Used(9 * TICKS, 14 * TICKS)])
    costs = {1: iter([2.0, 5.0]), 2: iter([1.0])}
    shares = WorkerShares(lambda: next(moments), lambda: next(used), lambda pid: next(costs[pid]))
    shares.note("gw1", 1, "a.py::test_a@kafka", 4.0)
    shares.note("gw0", 2, "b.py::test_b[x@y]", 2.0)
    shares.note("gw1", 1, "c.py::test_c[1-x@y]@cluster", 5.0)
    assert shares.lines() == [
        "gw0 until 20 s: no group 2 (1)",
        "gw1 until 50 s: cluster 5 (3), kafka 4 (2)",
        "busy until 20 s: 90 % of all processors; then: 64 %",
        "processor seconds: workers and what they started 6, all else 3",
        "of these the dearest files: c.py 3, a.py 2, b.py 1",
    ]


def test_processes_are_looked_at_once_a_second_and_when_the_group_changes() -> None:
    moments = iter([0.0, 1.0, 1.9, 2.1, 2.2, 2.3])
    costs = iter([1.0, 4.0, 4.5])
    shares = WorkerShares(lambda: next(moments), lambda: Used(0, 0), lambda _: next(costs))
    for group in ("a", "a", "a", "b", "b"):
        shares.note("gw0", 1, f"t.py::test@{group}", 0.0)
    assert shares.lines()[0] == "gw0 until 2 s: a 0 (4), b 0 (0)"
    assert next(costs, None) is None


def test_what_a_process_has_started_counts_while_it_runs_and_when_it_has_ended() -> None:
    before = processor_seconds(os.getpid())
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603 - ours
        assert child.stdout is not None
        child.stdout.readline()
        assert processor_seconds(child.pid) >= 0.1
        assert processor_seconds(os.getpid()) >= before + 0.1
        child.communicate()
    assert processor_seconds(os.getpid()) >= before + 0.1
    assert processor_seconds(child.pid) == 0


def test_a_run_that_collected_nothing_says_nothing() -> None:
    assert WorkerShares(lambda: 0.0, lambda: Used(0, 0)).lines() == []
