"""What happens on the day of a seed: drawn before it begins, so that a part of it can be left out."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.simulation.deeds import BREAKS, CALL_FAULTS, DAMAGE, PEOPLE, STOPS, TROUBLE

DAY = 86_400.0
WINDOWS = 2
"""Times of the day at which people and faults are busy; between them the operator is slow, as on a machine that has
much to do: a look takes minutes to begin."""
WINDOW_SECONDS = 150.0
CALM_AT = DAY - 2 * 3_600.0
"""From then on nobody edits, and nothing goes wrong."""
MOST_CALLS = 60
"""A happening comes right before one of so many calls after its time."""
BETWEEN = 0.3
"""The share of what happens between the look and the action of a tick, and not at any call."""
MOST_ACTIONS = 3
"""Of how many actions of that name one is chosen."""
DANGEROUS = ("Announce", "DeleteRecords", "Evict", "SetMaintenance", "Submit")
"""Actions that cannot be undone."""
ACTIONS = (
    *(DANGEROUS * 3),
    *("FlushRegions", "WriteIntents", "WriteTargets", "ClearThrottle", "CreateTopics", "MoveHold"),
    *("SetThrottle", "Cancel", "ElectLeaders", "RepairConfigs", "AddFinalizer", "SetConfigHash"),
    *("PlaceHold", "ReleaseHold", "FreezeRequest"),
)
"""Before which something happens: those that change what is outside of the object."""


@dataclass(frozen=True, order=True)
class Happening:
    """Something that happens: so many calls after a time, or before the so-manieth action of a name."""

    at: float
    calls: int
    name: str
    number: int
    before: str = ""

    def __str__(self) -> str:
        when = f"before {self.before}, after {self.calls} others" if self.before else f"+{self.calls} calls"
        return f"{clock(self.at)} {when}: {self.name.replace('_', ' ')} ({self.number})"


@dataclass(frozen=True)
class Plan:
    """One day.

    Attributes:
        destroys: whether an adversary destroys things, so that not all can be as declared at the end.
        mirrors: whether there is a subscription.
        backs_up: whether there is a policy of backups: until the next one it holds more than rows need.
        windows: when it is busy.
    """

    seed: int
    auto_prune: str
    destroys: bool
    mirrors: bool
    backs_up: bool
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
        times = [random.uniform(begin, end - 30) for _ in range(random.randrange(8, 18))]
        happenings += [_draw(random, time, destroys=destroys) for time in times]
    mode, mirrors, backs_up = random.choice(("Logical", "Disabled")), random.random() < 0.6, random.random() < 0.4
    return Plan(seed, mode, destroys, mirrors, backs_up, windows, tuple(sorted(happenings)))


def _draw(random: Random, time: float, *, destroys: bool) -> Happening:
    number, name = random.randrange(1_000), _name(random, destroys=destroys)
    if random.random() < BETWEEN:
        name = random.choice((name, random.choice(BREAKS if destroys and random.random() < 0.5 else STOPS).name))
        return Happening(time, random.randrange(MOST_ACTIONS), name, number, random.choice(ACTIONS))
    return Happening(time, random.randrange(MOST_CALLS), name, number)


def _name(random: Random, *, destroys: bool) -> str:
    what = random.random()
    if what < 0.25:
        return random.choice(CALL_FAULTS)
    if what < 0.55:
        return random.choice(TROUBLE).name
    return random.choice(DAMAGE if what < 0.65 and destroys else PEOPLE).name


def clock(seconds: float) -> str:
    """As a clock shows it."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{seconds % 60:06.3f}"
