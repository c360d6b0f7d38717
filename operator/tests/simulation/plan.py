"""What happens on the day of a seed: drawn before it begins, so that a part of it can be left out."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.simulation.deeds import CALL_FAULTS, DAMAGE, PEOPLE, TROUBLE

DAY = 86_400.0
WINDOWS = 2
"""Times of the day at which people and faults are busy; between them the operator is slow, as on a machine that has
much to do: a look takes minutes to begin."""
WINDOW_SECONDS = 270.0
CALM_AT = DAY - 2 * 3_600.0
"""From then on nobody edits, and nothing goes wrong."""
MOST_CALLS = 60
"""A happening comes right before one of so many calls after its time."""


@dataclass(frozen=True, order=True)
class Happening:
    """Something that happens: so many calls after a time."""

    at: float
    calls: int
    name: str
    number: int

    def __str__(self) -> str:
        return f"{clock(self.at)} +{self.calls} calls: {self.name.replace('_', ' ')} ({self.number})"


@dataclass(frozen=True)
class Plan:
    """One day.

    Attributes:
        destroys: whether an adversary destroys things, so that not all can be as declared at the end.
        windows: when it is busy.
    """

    seed: int
    auto_prune: str
    destroys: bool
    windows: tuple[tuple[float, float], ...]
    happenings: tuple[Happening, ...]


def plan_of(seed: int) -> Plan:
    """The day of a seed."""
    random = Random(f"plan of {seed}")  # noqa: S311 - a seed, no secret
    destroys = seed % 3 == 0
    hours = sorted(random.sample(range(int(CALM_AT // 3_600)), WINDOWS))
    windows = tuple((begin, begin + WINDOW_SECONDS) for begin in (hour * 3_600.0 + 900 for hour in hours))
    happenings: list[Happening] = []
    for begin, end in windows:
        times = [random.uniform(begin, end - 60) for _ in range(random.randrange(8, 18))]
        happenings += [_draw(random, time, destroys=destroys) for time in times]
    return Plan(seed, random.choice(("Logical", "Disabled")), destroys, windows, tuple(sorted(happenings)))


def _draw(random: Random, time: float, *, destroys: bool) -> Happening:
    what = random.random()
    calls = random.randrange(MOST_CALLS)
    number = random.randrange(1_000)
    if what < 0.25:
        return Happening(time, calls, random.choice(CALL_FAULTS), number)
    if what < 0.55:
        return Happening(time, calls, random.choice(TROUBLE).name, number)
    if what < 0.65 and destroys:
        return Happening(time, calls, random.choice(DAMAGE).name, number)
    return Happening(time, calls, random.choice(PEOPLE).name, number)


def clock(seconds: float) -> str:
    """As a clock shows it."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{seconds % 60:06.3f}"
