"""A seed that fails, with as little of what happened as still makes it fail, as a story."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.simulation.plan import Happening, clock, plan_of
from tests.simulation.run import Result, simulate

MOST_RUNS = 60


def minimize(found: Result, most_runs: int = MOST_RUNS) -> Result:
    """Leaves out what is not needed, larger parts first, while the same invariant is broken."""
    best, runs, size = found, 0, max(1, len(found.plan.happenings) // 2)
    while size and runs < most_runs:
        shorter = None
        for left in _without(best.plan.happenings, size):
            runs += 1
            again = simulate(found.plan.seed, left)
            if _is_same(again, found):
                shorter = again
                break
            if runs >= most_runs:
                break
        if shorter is None:
            size //= 2
        else:
            best = shorter
            size = min(size, len(best.plan.happenings))
    return best


def _without(happenings: Sequence[Happening], size: int) -> Iterator[list[Happening]]:
    for start in range(0, len(happenings), size):
        yield [*happenings[:start], *happenings[start + size :]]


def _is_same(found: Result, wanted: Result) -> bool:
    """By the letter of the invariant: the numbers in the sentence may be others."""
    kind, other = (each.violation.partition(":")[0] if each.violation else None for each in (found, wanted))
    return kind is not None and kind == other


def story(found: Result) -> str:
    """What people read of it."""
    plan = found.plan
    mode = {"Logical": "A", "Disabled": "B"}[plan.auto_prune]
    beside = [word for word, has in (("a subscription", plan.mirrors), ("backups", plan.backs_up)) if has]
    objects = f", with {' and '.join(beside)}" if beside else ""
    head = f"seed {plan.seed}, mode {mode}{objects}: {found.violation or 'nothing is wrong'}"
    busy = ", ".join(f"{clock(begin)[:8]} to {clock(end)[:8]}" for begin, end in plan.windows)
    left_out = len(plan_of(plan.seed).happenings) - len(plan.happenings)
    what = [f"  {each}" for each in plan.happenings]
    return "\n".join(
        [
            head,
            f"busy from {busy}; {len(plan.happenings)} happenings ({left_out} left out):",
            *what,
            "and then:",
            *(f"  {line}" for line in found.story),
            f"digest {found.digest}",
        ]
    )
