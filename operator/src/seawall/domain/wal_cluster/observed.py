"""Everything that one tick of a WALCluster looks at, read in one go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from seawall.api.meta import Key
from seawall.domain.kafka import Configs, KafkaView, NoKafka
from seawall.domain.walconfig.config_map import ConfigMap


@dataclass(frozen=True, slots=True)
class Failure:
    """What the outside answered to the actions of this tick.

    `final` means that it said no; otherwise it did not answer and the same may work later.
    """

    message: str
    final: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees. `configs` has the topics with the prefix; `rival` is an older WALCluster with the same pool.

    `kafka` is None when it was not asked: the spec is invalid, or the tick has no use for it.
    """

    now: datetime
    kafka: KafkaView | NoKafka | None = None
    configs: Mapping[str, Configs] = field(default_factory=dict)
    rival: Key | None = None
    namespace_terminating: bool = False
    config_map: ConfigMap | None = None
    failure: Failure | None = None
