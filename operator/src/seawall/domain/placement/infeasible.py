"""Why no placement can be as demanded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from seawall.domain.placement.demand import Demand
from seawall.domain.placement.grid import Grid, Mask
from seawall.domain.placement.outcome import Infeasible, InfeasibleReason


def slips(grid: Grid, demand: Demand) -> Infeasible | None:
    """What can be seen from the brokers alone."""
    unknown = demand.exclude - {broker.id for broker in grid.brokers}
    if unknown:
        message = f"excludeBrokers names {_brokers(unknown)}, which Kafka does not know: take out what is gone"
        return Infeasible(InfeasibleReason.UNKNOWN_BROKERS, message)
    rackless = [b.id for b, usable in zip(grid.brokers, grid.usable, strict=True) if usable and b.rack is None]
    if grid.racks_demanded and rackless:
        message = f"each replica should be in a rack of its own, and broker.rack is not set on {_brokers(rackless)}"
        return Infeasible(InfeasibleReason.RACKS_UNKNOWN, message)
    return None


def why_infeasible(grid: Grid, placed: Mask) -> Infeasible:
    """What is missing for the row that lacks most; `placed` is as near as it comes."""
    lacking = grid.factor - placed.sum(axis=1)
    row = int(np.lexsort((-grid.factor, -lacking))[0])
    factor = int(grid.factor[row])
    every, rest = np.ones_like(grid.excluded), ~grid.excluded
    if factor > len(grid.brokers):
        message = f"{factor} replicas need as many brokers, and Kafka has {len(grid.brokers)}"
        return Infeasible(InfeasibleReason.TOO_FEW_BROKERS, message)
    if grid.racks_demanded and factor > _racks(grid, every):
        message = (
            f"{factor} replicas in racks of their own need as many racks, and the brokers have {_racks(grid, every)}"
        )
        return Infeasible(InfeasibleReason.TOO_FEW_RACKS, message)
    if factor > rest.sum() or (grid.racks_demanded and factor > _racks(grid, rest)):
        count, what = (_racks(grid, rest), "rack") if grid.racks_demanded else (int(rest.sum()), "broker")
        left = f"{count} {what}{'' if count == 1 else 's'}"
        message = f"excludeBrokers leaves {left}, and {factor} replicas need more"
        return Infeasible(InfeasibleReason.TOO_MANY_EXCLUDED, message)
    down = [broker.id for broker, usable in zip(grid.brokers, grid.usable | grid.excluded, strict=True) if not usable]
    topic, partition = grid.partitions[row].id
    missing = f"partition {partition} of topic {topic} lacks a place for {lacking[row]} of {factor} replicas"
    message = f"{missing} while {_brokers(down)} {'is' if len(down) == 1 else 'are'} not online"
    return Infeasible(InfeasibleReason.BROKERS_NOT_ONLINE, message)


def _racks(grid: Grid, brokers: Mask) -> int:
    return len(np.unique(grid.rack[brokers]))


def _brokers(ids: Iterable[int]) -> str:
    listed = sorted(ids)
    return f"{'broker' if len(listed) == 1 else 'brokers'} {', '.join(map(str, listed))}"
