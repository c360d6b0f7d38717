"""What is asked of a placement."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId, known_brokers


@dataclass(frozen=True, slots=True)
class Demand:
    """What the replicas should be like; a partition that is like it stays as it is.

    Attributes:
        replication_factor: replicas by topic; a topic that is not named keeps as many as it has.
        exclude: brokers that shall have no replica of these partitions.
        racks: no two replicas of a partition in one rack. Without it, new replicas are spread as well as it goes.
        rebalance: also move replicas that may stay, until all brokers have as many replicas and preferred leaders.
    """

    replication_factor: Mapping[str, int] = field(default_factory=dict)
    exclude: frozenset[int] = frozenset()
    racks: bool = False
    rebalance: bool = False


Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

NOBODY = -1
"""The column of a leader that is not."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Partitions by brokers.

    Attributes:
        partitions: the rows.
        brokers: the columns: those that are registered, and those that only replica lists name.
        rack: of each broker, as a number; a broker whose rack is not known is a rack of its own.
        excluded: the brokers that shall have no replicas.
        usable: the brokers that may get new replicas: online, and not excluded.
        replicas: where replicas are now, rows by brokers.
        in_sync: which of them are in sync.
        leader: of each row, a column or NOBODY.
        preferred: of each row, the column of the first replica; NOBODY while it has none.
        factor: how many replicas each row should have.
        sizes: bytes of one replica of each row.
        racks_demanded: whether no two replicas of a row may be in one rack.
    """

    partitions: tuple[Partition, ...]
    brokers: tuple[Broker, ...]
    rack: Numbers
    excluded: Mask
    usable: Mask
    replicas: Mask
    in_sync: Mask
    leader: Numbers
    preferred: Numbers
    factor: Numbers
    sizes: Numbers
    racks_demanded: bool

    def in_racks(self, placed: Mask) -> Numbers:
        """How many of these replicas each row has in each rack, rows by racks."""
        of_rack = self.rack[:, None] == np.arange(len(self.brokers))
        found: Numbers = placed.astype(np.int64) @ of_rack.astype(np.int64)
        return found

    def leads(self) -> Mask:
        """The leaders, rows by brokers."""
        return one_hot(self.leader, len(self.brokers))

    def healthy(self) -> Mask:
        """The rows that have a leader and all replicas in sync."""
        found: Mask = (self.in_sync == self.replicas).all(axis=1) & (self.leader != NOBODY)
        return found

    def with_factor(self, factor: Numbers) -> Grid:
        """The same with other replication factors."""
        return replace(self, factor=factor)

    def without_racks(self) -> Grid:
        """The same with every broker in a rack of its own."""
        return replace(self, rack=np.arange(len(self.brokers)))


def make_grid(
    partitions: Collection[Partition], brokers: Collection[Broker], demand: Demand, sizes: Mapping[PartitionId, int]
) -> Grid:
    """Puts the cluster into columns."""
    rows = tuple(sorted(partitions, key=lambda partition: partition.id))
    all_brokers = known_brokers(brokers, rows)
    column = {broker.id: index for index, broker in enumerate(all_brokers)}
    rack = {broker.rack: index for index, broker in reversed(list(enumerate(all_brokers)))}
    excluded = np.array([broker.id in demand.exclude for broker in all_brokers], np.bool_)
    online = np.array([broker.state is BrokerState.ONLINE for broker in all_brokers], np.bool_)
    replicas = _mask([[column[broker] for broker in row.replicas] for row in rows], len(all_brokers))
    in_sync = _mask([[column[broker] for broker in row.isr if broker in column] for row in rows], len(all_brokers))
    wanted = [demand.replication_factor.get(row.id.topic, len(row.replicas)) for row in rows]
    return Grid(
        partitions=rows,
        brokers=all_brokers,
        rack=np.array([i if b.rack is None else rack[b.rack] for i, b in enumerate(all_brokers)], np.int64),
        excluded=excluded,
        usable=online & ~excluded,
        replicas=replicas,
        in_sync=in_sync & replicas,
        leader=np.array([NOBODY if row.leader is None else column.get(row.leader, NOBODY) for row in rows], np.int64),
        preferred=np.array([column[row.replicas[0]] if row.replicas else NOBODY for row in rows], np.int64),
        factor=np.array(wanted, np.int64),
        sizes=np.array([sizes.get(row.id, 0) for row in rows], np.int64),
        racks_demanded=demand.racks,
    )


def one_hot(columns: Numbers, width: int) -> Mask:
    """A mask with one broker in each row; none where the column is NOBODY."""
    mask: Mask = columns[:, None] == np.arange(width)
    return mask


def _mask(columns: list[list[int]], width: int) -> Mask:
    mask = np.zeros((len(columns), width), np.bool_)
    pairs = np.array([(row, column) for row, listed in enumerate(columns) for column in listed], np.int64)
    mask[tuple(pairs.reshape(-1, 2).T)] = True
    return mask
