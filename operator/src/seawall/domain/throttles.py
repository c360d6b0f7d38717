"""Which rate holds for a broker, and what to say of one that somebody set on a single broker.

Kafka's own tool (`kafka-reassign-partitions --throttle`) sets rates on single brokers, and leaves them there until its
`--verify`. They win over the cluster's default, which is what Seawall sets: lower ones make its moves slow, higher ones
take the throttle from that broker, and what stays slows down the next move.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seawall.domain.kafka import command_without
from seawall.domain.partitions import Rates, Throttles
from seawall.domain.text import few

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"


def effective_rates(throttles: Throttles, broker: int) -> Rates:
    """What holds for a broker: its own rates, and where it has none, the cluster's default."""
    own, default = throttles.by_broker.get(broker, Rates()), throttles.rates
    return Rates(
        default.leader if own.leader is None else own.leader,
        default.follower if own.follower is None else own.follower,
    )


def least_rate(throttles: Throttles, brokers: Collection[int]) -> int | None:
    """Bytes a second of the slowest of these brokers, in either direction; None: nothing slows them down."""
    found = (least_of(effective_rates(throttles, broker)) for broker in brokers)
    return min((rate for rate in found if rate is not None), default=None)


def least_of(rates: Rates) -> int | None:
    """The lesser of two rates."""
    return min((rate for rate in (rates.leader, rates.follower) if rate is not None), default=None)


def own_rates_sentence(own: Mapping[int, Rates]) -> str:
    """Which brokers have rates of their own, and the command that removes those of the first; empty for none.

    Kafka's tool refuses to remove a config that is not set, so that the command names only those that are.
    """
    if not own:
        return ""
    brokers = sorted(own)
    command = removal_command(brokers[0], own[brokers[0]])
    listed = few(f"{broker} ({_said(own[broker])})" for broker in brokers)
    several = len(brokers) > 1
    return (
        f"broker{'s' if several else ''} {listed} {'have throttles' if several else 'has a throttle'} of"
        f" {'their' if several else 'its'} own, which Seawall did not set and which win{'' if several else 's'} over"
        f" the cluster's; once nobody needs {'them' if several else 'it'}: {command}"
        + (", and so for the others" if several else "")
    )


def removal_command(broker: int, own: Rates) -> str:
    """What removes a broker's own rates."""
    keys = ((LEADER_RATE, own.leader), (FOLLOWER_RATE, own.follower))
    return command_without(broker, [key for key, rate in keys if rate is not None])


def _said(rates: Rates) -> str:
    if rates.leader == rates.follower:
        return f"{rates.leader} bytes/s"
    reported = (("sends", rates.leader), ("fetches", rates.follower))
    return ", ".join(f"{what} {rate} bytes/s" for what, rate in reported if rate is not None)
