"""The operator's settings, from environment variables `SEAWALL_*`."""

from __future__ import annotations

import os
import socket
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from seawall.api.pages import PAGES_PORT


class Settings(BaseSettings):
    """Settings of one operator process."""

    model_config = SettingsConfigDict(env_prefix="SEAWALL_", frozen=True)

    namespaces: Annotated[tuple[str, ...], NoDecode] = ()
    """Namespaces to serve, comma-separated; empty means the whole cluster."""
    pod_namespace: str = "default"
    """Namespace of the operator's Lease."""
    pod_name: str = Field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")
    """This process's identity in the Lease."""
    lease_name: str = "seawall"
    """Name of the operator's Lease; each Helm release has its own."""
    resync_seconds: Annotated[float, Field(ge=1)] = 60
    """Every object is reconciled at least this often."""
    topic_metrics: bool = False
    """Whether to publish one metric series per topic."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Log level."""
    log_format: Literal["text", "json"] = "text"
    """Lines for people, or one JSON object a line."""
    strimzi: bool = False
    """Whether to look for Strimzi's KafkaTopics and KafkaRebalances on the Kafka of WALClusters."""
    strimzi_namespaces: Annotated[tuple[str, ...], NoDecode] = ()
    """Namespaces of Strimzi's resources, comma-separated; empty means those that are served."""
    managed_kafka: bool = False
    """Whether to run the Kafkas of WALClusters with kafka.managed."""
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """Port of /metrics."""
    metrics_secure: bool = True
    """Whether /metrics is served by TLS, and to whoever may get it; false: by plain HTTP, to whoever reaches it."""
    health_port: Annotated[int, Field(ge=0, le=65535)] = 8081
    """Port of /healthz and /readyz, for the kubelet."""
    pages_port: Annotated[int, Field(ge=0, le=65535)] = PAGES_PORT
    """Port of the pages, by TLS, for people whose rights are asked."""
    page_key: bool = True
    """Whether people without a token may show the key that is on the Lease instead."""
    workers: Annotated[int, Field(ge=1, le=256)] = 32
    """Objects that are reconciled at the same time; each blocked Kafka keeps one busy until its deadline."""

    @field_validator("namespaces", "strimzi_namespaces", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value
