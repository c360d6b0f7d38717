"""Days of some seeds: no invariant is broken, all comes to rest, and a seed is one run, whoever lives it."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from tests.adversary.test_adversary_mutants import confused, deleted_jobs_made_again, no_holds, no_reread
from tests.fakes.dataplane import FakeDataPlane
from tests.simulation.minimize import minimize, story
from tests.simulation.mutants import BUGS, QUICK, Bug, find
from tests.simulation.plan import Happening, plan_of
from tests.simulation.run import simulate
from tests.worlds import backup_world

pytestmark = pytest.mark.usefixtures("quiet")

SEEDS = range(1, 9)
"""2,000 of them are lived in the soak (`test_many_days.py`): a day takes ten seconds of a processor."""
SEED_WITH_DELETES, SEED_WITH_HOLDS, SEED_WITH_BACKUP, SHORT_SEED = 10, 1, 8, 18
OPERATOR = Path(__file__).parents[2]
DIGEST = "import sys; from tests.simulation.run import simulate; print(simulate(int(sys.argv[1])).digest)"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_day_breaks_no_invariant_and_comes_to_rest(seed: int) -> None:
    found = simulate(seed)
    if found.violation is not None:
        pytest.fail(story(minimize(found)))
    assert found.counts["rows"] > 1_000, "the database wrote next to nothing"
    assert found.counts["changes"] > 50, "the operator did next to nothing"


def test_a_seed_is_one_run_in_another_process_with_another_order_of_sets() -> None:
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(OPERATOR)}
    asked = [sys.executable, "-W", "ignore", "-c", DIGEST, str(SHORT_SEED)]
    there = subprocess.run(asked, env=env, cwd=OPERATOR, capture_output=True, text=True, check=True, timeout=300)  # noqa: S603 - ours
    assert there.stdout.strip() == simulate(SHORT_SEED).digest == simulate(SHORT_SEED).digest


def test_a_bug_that_the_operator_takes_for_a_silent_part_of_the_database_is_found() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeDataPlane, "nodes", confused)
        found = simulate(SHORT_SEED, [])
    assert (found.violation or "").startswith("E: the database's nodes: KeyError: 'a bug', in ")


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.name in QUICK], ids=lambda bug: bug.name)
def test_a_planted_bug_is_found_as_what_it_breaks(bug: Bug) -> None:
    assert find(bug, range(1, 6)) is not None


def test_what_happens_between_a_look_and_its_action_is_noticed_by_who_reads_again() -> None:
    """People stop deletes when a delete is decided: nothing goes; without the second read it does."""
    begin = plan_of(SEED_WITH_DELETES).windows[0][0]
    stops = [Happening(begin, 0, "stop_deletes", 399, "DeleteRecords")]
    honest = simulate(SEED_WITH_DELETES, stops)
    assert (honest.violation, honest.counts["happenings"]) == (None, 2)  # and it is taken back
    with pytest.MonkeyPatch.context() as patch:
        no_reread(patch)
        found = simulate(SEED_WITH_DELETES, stops)
    assert found.violation == "L: delete_records although seawall.dev/stop-deletes is set"
    assert found.digest != honest.digest, "a digest of nothing would be that of every run"


def test_a_job_that_is_refused_on_a_day_without_damage_is_not_at_rest() -> None:
    """Its application goes while it runs: another attempt works. Made again as the same one, it is refused."""
    begin = plan_of(SEED_WITH_BACKUP).windows[0][0]
    goes = [Happening(begin + 67.5, 0, "application_goes", 2)]
    assert simulate(SEED_WITH_BACKUP, goes).violation is None
    with pytest.MonkeyPatch.context() as patch:
        deleted_jobs_made_again(patch)
        numbers = count()
        patch.setattr(backup_world, "_digest_of", lambda _: str(next(numbers)))  # nor does a job know its own manifest
        said = simulate(SEED_WITH_BACKUP, goes).violation
    assert said is not None
    assert said.startswith("C: ")
    assert "was refused: the manifest" in said


def test_a_seed_that_fails_is_told_with_as_little_as_is_needed() -> None:
    with pytest.MonkeyPatch.context() as patch:
        no_holds(patch)
        found = simulate(SEED_WITH_HOLDS)
        least = minimize(found, most_runs=8)
    assert found.violation is not None
    assert least.violation is not None
    assert least.violation.startswith("H: ")
    assert len(least.plan.happenings) < len(found.plan.happenings)
    told = story(least)
    assert told.startswith(f"seed {SEED_WITH_HOLDS}, mode ")
    assert f"({len(found.plan.happenings) - len(least.plan.happenings)} left out)" in told
