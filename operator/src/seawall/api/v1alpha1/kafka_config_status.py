"""What a WALCluster's status says of configs that brokers took while they ran (`status.kafkaConfig`)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.kafka_dynamic_configs import DYNAMIC_CONFIGS


class KafkaConfigStatus(StatusModel):
    """Configs that Seawall sets as defaults of all brokers."""

    keys: Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=len(DYNAMIC_CONFIGS))] = ()
    """The configs that Seawall sets, or set and has not taken back yet; what others set is left alone."""
