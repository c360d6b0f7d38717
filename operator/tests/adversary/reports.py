"""What lives with an adversary found, as people read it, and which lives a short test leads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.adversary.lives import COMPARES, REPLICA_ACTS, UNFENCED, Adversary, Finding, Pair, Scenario, live, pairs_of

EVERY = 1_040
"""Of all pairs each so-manieth is in a short test, too."""
AFTER_AN_ACT = 12
"""Calls after min.insync.replicas changed at which a short test makes every move: until all have acted."""


@dataclass
class Report:
    """All that was found in one scenario."""

    scenario: str
    calls: int
    moves: int
    pairs: int
    lives: int
    lived: int = 0
    unavoidable: int = 0
    findings: list[Finding] = field(default_factory=list)

    def add(self, found: Finding | None) -> None:
        """One more life."""
        self.lived += 1
        if found is not None and found.is_unavoidable:
            self.unavoidable += 1
        elif found is not None:
            self.findings.append(found)

    def lines(self) -> list[str]:
        """What people read: the count, and one line for each move that did damage."""
        head = (
            f"{self.scenario}: calls × moves = {self.calls} × {self.moves} = {self.pairs}, "  # noqa: RUF001 - times
            f"{self.lives} of them differ, {self.lived} lived, {len(self.findings)} violations, "
            f"{self.unavoidable} that nobody could see"
        )
        grouped: dict[tuple[str, str], list[Finding]] = {}
        for found in self.findings:
            moves = " + ".join(pair.move.name for pair in found.pair)
            grouped.setdefault((moves, found.what.partition(" rows are lost")[0]), []).append(found)
        return [
            head,
            *(
                f"  {moves}: {len(found)} times, first before call {found[0].pair[0].at}, in {found[0].call}: {what}"
                for (moves, what), found in sorted(grouped.items())
            ),
        ]


def sample_of(scenario: Scenario, calm: Adversary) -> list[Pair]:
    """Of each move the last one before records or topics go, and of all pairs each so-manieth.

    Right before the first act of a kind those moves are made for which its action does not ask again: an act that has
    lost its guard has more of them. What is made at neither is made at the beginning. Where replicas come and go, the
    last one before each change of them, of their throttle and of min.insync.replicas, and all soon after the latter.
    """
    all_pairs = list(pairs_of(scenario, calm))
    pairs = [pair for pair in all_pairs if not pair.is_only_judged]
    first_acts = {calm.names.index(name) for name in COMPARES.keys() & set(calm.names)}
    judged = [pair for pair in all_pairs if pair.is_only_judged and pair.at in first_acts]
    unasked = [pair for pair in judged if not calm.shows(pair.move, pair.at)]
    of_replicas = [at for at, name in enumerate(calm.names) if name in REPLICA_ACTS and "reassign" in calm.names]
    acts = of_replicas or [at for at, name in enumerate(calm.names) if name in UNFENCED][:1]
    last = {(act, pair.move.name): pair for act in acts for pair in pairs if pair.at <= act}
    made = {pair.move.name for pair in (*last.values(), *unasked)}
    first = {pair.move.name: pair for pair in reversed(pairs) if pair.move.name not in made}
    raised = [act for act in of_replicas if calm.names[act] == "alter_configs"]
    after = [each for each in pairs if any(0 < each.at - act <= AFTER_AN_ACT for act in raised)]
    chosen = {(pair.at, pair.move.name): pair for pair in (*first.values(), *last.values(), *after, *unasked)}
    chosen |= {(pair.at, pair.move.name): pair for pair in pairs[3::EVERY]}
    return list(chosen.values())


def report(scenario: Scenario, start: Any, calm: Adversary, chosen: Iterable[tuple[Pair, ...]]) -> Report:
    """Lives all of them."""
    pairs = list(pairs_of(scenario, calm))
    calls = sum(name != "(others)" for name in calm.names)
    made = Report(scenario.name, calls, len(scenario.moves), calls * len(scenario.moves), len(pairs))
    assert sum(pair.weight for pair in pairs) == made.pairs
    for each in chosen:
        made.add(live(scenario, start, calm, each))
    return made
