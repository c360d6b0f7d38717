"""Before each call to the outside of each scenario the world makes one move, and then the operator goes on to its end.

The crash tests kill the operator while the world stands still; here the operator lives, and the world moves. Judged by
the invariants of the design on the world itself, with every row known to who wrote it (`tests/adversary/judge.py`).

ADVERSARY=all lives all calls times moves (make e2e-soak); without it each move right before something goes, or at the
beginning where nothing does, and a part of the others. ADVERSARY_SEED=<n> chooses other pairs of moves,
ADVERSARY_PAIRS=<n> how many.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.adversary.lives import Pair, Scenario, calm_life, pairs_of
from tests.adversary.reports import Report, report, sample_of
from tests.adversary.scenarios import SCENARIOS
from tests.support.golden import counts

pytestmark = pytest.mark.usefixtures("quiet")

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
SEED = int(os.environ.get("ADVERSARY_SEED", "21"))
PAIRS = int(os.environ.get("ADVERSARY_PAIRS", "600" if LIVES_ALL else "2"))


def tell(found: Report) -> str:
    text = "\n".join(found.lines())
    print(text)  # noqa: T201 - the count is the evidence
    return text


@pytest.mark.timeout(10_000 if LIVES_ALL else 600)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name.replace(" ", "-"))
def test_no_move_of_the_world_before_any_call_breaks_an_invariant(scenario: Scenario) -> None:
    start, calm = calm_life(scenario)
    pairs = list(pairs_of(scenario, calm)) if LIVES_ALL else sample_of(scenario, calm)
    found = report(scenario, start, calm, [(pair,) for pair in pairs])
    text = tell(found)
    assert found.pairs >= counts("adversary")[scenario.name]["pairs"], "fewer calls and moves than before"
    assert {pair.move.name for pair in pairs} == {move.name for move in scenario.moves}, "a move was not made"
    assert not found.findings, text


@pytest.mark.timeout(10_000 if LIVES_ALL else 600)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name.replace(" ", "-"))
def test_no_two_moves_of_the_world_break_an_invariant(scenario: Scenario) -> None:
    start, calm = calm_life(scenario)
    found = report(scenario, start, calm, _two_moves(list(pairs_of(scenario, calm)), Random(f"{SEED} {scenario.name}")))  # noqa: S311 - a sample
    text = tell(found)
    print(f"  seed {SEED}: {PAIRS} pairs of moves")  # noqa: T201 - the seed makes it again
    assert not found.findings, text


def _two_moves(pairs: list[Pair], random: Random) -> list[tuple[Pair, ...]]:
    """The second one is made where the first one was, or later."""
    drawn = [random.sample(pairs, 2) for _ in range(PAIRS)]
    return [tuple(sorted(two, key=lambda pair: pair.at)) for two in drawn]
