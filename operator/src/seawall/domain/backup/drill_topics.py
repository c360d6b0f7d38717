"""Of which topics a drill is: as many as fit, each in its turn.

What was too large for `maxBytes` is tried with fewer, down to one. One that is too large alone is passed over, and
named.
"""

from __future__ import annotations

from collections.abc import Sequence

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.conditions import find_condition
from seawall.domain.text import listed

_TOO_LARGE = "TooLarge"


def fitting(own: Sequence[WALRestore], most: int, max_bytes: int) -> int:
    """How many topics the next one takes: as many as fit, by what the newest plan came to, and `most` at most."""
    planned = (each for each in reversed(own) if each.status.is_over and each.status.plan is not None)
    last = next(planned, None)
    if last is None or last.status.plan is None or isinstance(last.spec, InvalidSpec):
        return most
    plan, count = last.status.plan, len(last.spec.topics)
    needs = plan.bytes + plan.padding
    if needs > max_bytes:
        return max(1, min(most, count // 2))
    return max(1, min(most, count * max_bytes // needs)) if needs else most


def is_too_large_alone(drill: WALRestore) -> bool:
    """Whether it ended because its only topic is too large: fewer cannot be tried."""
    ready = find_condition(drill.status.conditions, ConditionType.READY)
    is_so = drill.status.is_over and ready is not None and ready.reason == _TOO_LARGE
    return is_so and not isinstance(drill.spec, InvalidSpec) and len(drill.spec.topics) == 1


def choose_topics(backup: WALBackup, most: int, last: str | None, pool: TopicsSpec) -> tuple[str, ...]:
    """The next topics of a backup after `last` in the order of their names, and then from the first on.

    Topics that were never written to prove nothing; those of another prefix no restore takes.
    """
    names = sorted(row.name for row in backup.status.topics if row.end > 0 and pool.index_of(row.name) is not None)
    begin = 0 if last is None else sum(name <= last for name in names)
    return tuple((names[begin:] + names[:begin])[:most])


def passed_over(own: Sequence[WALRestore]) -> str:
    """Topics that no drill proves, because each is too large alone, as a clause; as long as their drills are there."""
    names = set[str]()
    for each in own:
        if isinstance(each.spec, InvalidSpec):
            continue
        if each.status.stage is RestoreStage.COMPLETED:
            names -= set(each.spec.topics)
        elif is_too_large_alone(each):
            names |= set(each.spec.topics)
    return f"; too large alone for drill.maxBytes, and not proved: {listed(sorted(names))}" if names else ""
