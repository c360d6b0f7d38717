"""Whether the brokers of a target close idle connections before they forget producers.

A mirror's driver that sleeps with a batch in its hands is harmless while the broker remembers the producer. When it has
forgotten that, it takes any batch; so the connection that the driver asked on must be gone by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from seawall.domain.kafka import Configs

IDLE, EXPIRY = "connections.max.idle.ms", "producer.id.expiration.ms"
CONFIGS = (IDLE, EXPIRY)

Brokers = Mapping[int, Configs] | str
"""By broker the configs that matter; or why nobody knows, as a clause."""


class TargetReason(StrEnum):
    """Whether late writers are kept out of the target; the reasons of the condition TargetSafe."""

    SAFE = "ForgetsLate"
    """True. All brokers close idle connections (`connections.max.idle.ms`) sooner than they forget producers
    (`producer.id.expiration.ms`)."""
    UNSAFE = "ForgetsTooSoon"
    """False. The broker that the message names forgets producers while connections stay open: a driver that slept for
    so long could append an old batch. Make `producer.id.expiration.ms` longer."""
    UNKNOWN = "BrokersUnknown"
    """Unknown. The target does not say: give Seawall's user DescribeConfigs on the cluster, or compare the two configs
    yourself."""


def compare(brokers: Brokers) -> tuple[TargetReason, str]:
    """What follows of the configs, in one sentence."""
    if isinstance(brokers, str):
        return (
            TargetReason.UNKNOWN,
            f"it is not known when the target forgets producers: {brokers}",
        )
    silent = [broker for broker, configs in brokers.items() if not all(_is_number(configs.get(key)) for key in CONFIGS)]
    if silent or not brokers:
        who = f"broker {silent[0]}" if silent else "no broker"
        found = "does not tell" if silent else "tells"
        return TargetReason.UNKNOWN, f"{who} of the target {found} {IDLE} and {EXPIRY}"
    for broker, configs in sorted(brokers.items()):
        idle, expiry = int(configs[IDLE]), int(configs[EXPIRY])
        if idle < 0 or idle >= expiry:
            message = (
                f"broker {broker} of the target forgets producers after {EXPIRY}={expiry}, and closes idle connections "
                f"only after {IDLE}={idle}: that must be less"
            )
            return TargetReason.UNSAFE, message
    return TargetReason.SAFE, "the target closes idle connections sooner than it forgets producers"


def _is_number(value: str | None) -> bool:
    return value is not None and value.removeprefix("-").isdigit()
