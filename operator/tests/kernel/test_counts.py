"""How much is tried, as a file that people review: `golden/counts.json`.

Crash calls: each test of deaths compares its own (`compare_calls`); here it is seen that each of them is there.
Mutants: the guards that are taken away, by file. Adversary: the calls of each scenario, and the moves before them.
UPDATE_GOLDEN=1 writes it anew (make golden).
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.adversary.lives import calm_life
from tests.adversary.scenarios import SCENARIOS
from tests.support.golden import IS_UPDATE, compare_counts, counts, write_counts

pytestmark = pytest.mark.usefixtures("quiet")

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parents[1]
WITH_MUTANTS = sorted(str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*mutants.py"))


def name_of(mutant: Any) -> str:
    """Of a guard that is taken away."""
    return str(mutant[0].__name__ if isinstance(mutant, tuple) else mutant.name)


@pytest.mark.parametrize("file", WITH_MUTANTS)
def test_no_mutant_is_missing(file: str) -> None:
    module = importlib.import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}")
    compare_counts("mutants", file, sorted(map(name_of, module.MUTANTS)))


def test_no_file_of_mutants_is_missing() -> None:
    assert missing("mutants", set(WITH_MUTANTS)) == set()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name.replace(" ", "-"))
def test_no_call_and_no_move_of_the_adversary_is_missing(scenario: Any) -> None:
    _, calm = calm_life(scenario)
    calls = dict(sorted(Counter(name for name in calm.names if name != "(others)").items()))
    moves = sorted(move.name for move in scenario.moves)
    pairs = sum(calls.values()) * len(moves)
    compare_counts("adversary", scenario.name, {"calls": calls, "moves": moves, "pairs": pairs})


def test_no_scenario_of_the_adversary_is_missing() -> None:
    assert missing("adversary", {scenario.name for scenario in SCENARIOS}) == set()


def test_no_test_of_deaths_is_missing() -> None:
    files = sorted({test.partition("::")[0] for test in counts("crash calls")})
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    found = subprocess.run([*collect, *files], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - ourselves
    tests = set(found.stdout.splitlines())
    assert missing("crash calls", tests) == set()


def missing(section: str, there: set[str]) -> set[str]:
    """What is committed and no longer there; where the file is written anew, it is forgotten."""
    if IS_UPDATE:
        write_counts(section, {name: found for name, found in counts(section).items() if name in there})
    return counts(section).keys() - there
