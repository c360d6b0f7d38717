"""The server.properties of a combined KRaft node that starts quickly and stays small."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SCRAM_MECHANISM = "SCRAM-SHA-512"
MAX_INTERNAL_REPLICAS = 3


class NodePorts(NamedTuple):
    """The ports of a node. The TLS ones stay closed when the bed has no TLS."""

    plaintext: int
    controller: int
    sasl_ssl: int
    mutual_tls: int


def properties_of(index: int, ports: Sequence[NodePorts], data: Path, tls: Path | None) -> dict[str, str]:
    """The properties of node `index`; `tls` is the folder of server.pem and ca.crt."""
    replicas = min(len(ports), MAX_INTERNAL_REPLICAS)
    min_isr = max(1, replicas - 1)
    return {
        "process.roles": "broker,controller",
        "node.id": str(index + 1),
        "controller.quorum.voters": ",".join(f"{i + 1}@127.0.0.1:{p.controller}" for i, p in enumerate(ports)),
        "log.dirs": str(data),
        **_listeners(ports[index], tls),
        "auto.create.topics.enable": "false",
        "auto.leader.rebalance.enable": "false",  # else leaders that a test has moved go back after some minutes
        "default.replication.factor": str(replicas),
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "2",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(min_isr),
        "transaction.state.log.num.partitions": "2",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(min_isr),
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": "2097152",
        "log.cleaner.threads": "1",
        "metadata.max.idle.interval.ms": "5000",  # a third of what an idle node costs is records that say nothing
        "replica.fetch.wait.max.ms": "1500",  # a sixth of what idle brokers cost is to ask each other for nothing
        "num.network.threads": "1",  # each thread looks three times a second whether there is work
        "num.io.threads": "2",
        "group.coordinator.threads": "1",
        "background.threads": "2",
    }


def _listeners(ports: NodePorts, tls: Path | None) -> dict[str, str]:
    broker = {"PLAINTEXT": ports.plaintext}
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    if tls is not None:
        broker |= {"SASL_SSL": ports.sasl_ssl, "MUTUAL_TLS": ports.mutual_tls}
        protocols |= {"SASL_SSL": "SASL_SSL", "MUTUAL_TLS": "SSL"}
    advertised = [f"{name}://127.0.0.1:{port}" for name, port in broker.items()]
    return {
        "listeners": ",".join([*advertised, f"CONTROLLER://127.0.0.1:{ports.controller}"]),
        "advertised.listeners": ",".join(advertised),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        **(_tls(tls) if tls is not None else {}),
    }


def _tls(folder: Path) -> dict[str, str]:
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "server.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.crt"),
        "listener.name.mutual_tls.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": SCRAM_MECHANISM,
        f"listener.name.sasl_ssl.{SCRAM_MECHANISM.lower()}.sasl.jaas.config": login,
    }
