"""Renders GreptimeDB's `[wal]` configuration.

Source: the remote-WAL guide (seed 000) and GreptimeDB's config/{metasrv,datanode,standalone}.example.toml: all keys
sit flat in `[wal]`. Keys that say how the topics are made belong to the metasrv, the batch size to the datanode, and a
standalone server reads both halves. No password and no user name is written here: they stay in their Secret and reach
the database by environment variables, which a comment in the text names.

Who prunes is rendered as `autoPrune` declares it, for the declared version: GreptimeDB from 0.17 on deletes every
30 minutes unless it is set otherwise. Before 1.1 there is no `auto_prune_logical_delete`, and a key that is not known
is ignored without a word, so `Logical` is rendered as off there. `Physical` is the database's own default, and no key.
A standalone server never prunes.
"""

from __future__ import annotations

from typing import Any

import tomli_w

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.api.v1alpha1.data_plane import AutoPrune
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.dataplane.identity import reads_marker_at_open
from seawall.domain.kubernetes import ConfigMap

TLS_MOUNT = "/etc/greptimedb/wal-tls"
"""Where the database's pods are expected to mount the CA and the client certificate."""

PRUNE_INTERVAL = "30m"
"""GreptimeDB's own default, said aloud: 0.16 has another."""

_UNITS = (("MB", 2**20), ("KB", 2**10), ("B", 1))
_ROLES = {"metasrv": "METASRV", "datanode": "DATANODE", "standalone": "STANDALONE"}


def render_wal_config(cluster: Key, spec: WALClusterSpec, version: str | None = None) -> dict[str, str]:
    """The data of the ConfigMap: metasrv.toml, datanode.toml and standalone.toml.

    Only to be called for a spec with `dataPlane.walConfig`.

    Args:
        cluster: the key of the WALCluster.
        spec: of the WALCluster.
        version: of the database, where the spec does not declare it.
    """
    if spec.wal_config is None:
        raise ValueError("no dataPlane.walConfig to render")
    kafka, topics, declared = spec.kafka.access_of_database(cluster), spec.topics, spec.greptimedb
    pruning = {} if declared is None else _pruning(declared.auto_prune, declared.version or version)
    batch = {"max_batch_bytes": readable_size(spec.wal_config.batch_bytes(topics))}
    return {
        "metasrv.toml": _document("metasrv", kafka, {**_metasrv(topics), **pruning}),
        "datanode.toml": _document("datanode", kafka, batch),
        "standalone.toml": _document("standalone", kafka, {**_metasrv(topics), **batch}),
    }


def is_rendered_for(uid: str, found: ConfigMap) -> bool:
    """Whether it is that of the WALCluster of this uid, and none that one of its runs has by that name."""
    return found.controller_uid == uid and not found.binary_data


def _metasrv(topics: TopicsSpec) -> dict[str, Any]:
    return {
        "auto_create_topics": False,
        "num_topics": topics.count,
        "topic_name_prefix": topics.prefix,
        "replication_factor": topics.replication_factor,
    }


def _pruning(declared: AutoPrune, version: str | None) -> dict[str, Any]:
    match declared:
        case AutoPrune.PHYSICAL:
            return {}
        case AutoPrune.LOGICAL if reads_marker_at_open(version or ""):
            return {"auto_prune_interval": PRUNE_INTERVAL, "auto_prune_logical_delete": True}
        case _:
            return {"auto_prune_interval": "0s"}


def readable_size(size: int) -> str:
    """A number of bytes as GreptimeDB reads it, exactly: `1MB` is 2^20 bytes, `1000B` is 1,000."""
    unit, factor = next((unit, factor) for unit, factor in _UNITS if size % factor == 0)
    return f"{size // factor}{unit}"


def _document(role: str, kafka: ExternalKafka, own: dict[str, Any]) -> str:
    wal = {"provider": "kafka", "broker_endpoints": list(kafka.bootstrap_servers), **own}
    if kafka.sasl:
        wal["sasl"] = {"type": kafka.sasl.mechanism}
    if kafka.tls:
        wal["tls"] = _tls_paths(kafka)
    notes = ["Written by Seawall: edit the WALCluster instead.", *_secret_notes(role, kafka)]
    return "".join(f"# {note}\n" for note in notes) + "\n" + tomli_w.dumps({"wal": wal})


def _tls_paths(kafka: ExternalKafka) -> dict[str, str]:
    paths: dict[str, str] = {}
    if kafka.tls and kafka.tls.ca_secret_ref:
        paths["server_ca_cert_path"] = f"{TLS_MOUNT}/{kafka.tls.ca_secret_ref.key}"
    if kafka.tls and (client := kafka.tls.client_cert_secret_ref):
        paths["client_cert_path"] = f"{TLS_MOUNT}/{client.cert_key}"
        paths["client_key_path"] = f"{TLS_MOUNT}/{client.key_key}"
    return paths


def _secret_notes(role: str, kafka: ExternalKafka) -> list[str]:
    notes = []
    if kafka.sasl:
        secret, prefix = kafka.sasl.credentials_secret_ref, f"GREPTIMEDB_{_ROLES[role]}__WAL__SASL"
        user = f"from Secret {secret.name}, key {secret.username_key}"
        notes.append(f"Set {prefix}__USERNAME {user if kafka.sasl.username is None else f'to {kafka.sasl.username}'}.")
        notes.append(f"Set {prefix}__PASSWORD from Secret {secret.name}, key {secret.password_key}.")
    return [*notes, *_mount_notes(kafka)]


def _mount_notes(kafka: ExternalKafka) -> list[str]:
    """A pod may mount one volume at a path: so one Secret is named once, and two go into one volume."""
    refs = () if kafka.tls is None else (kafka.tls.ca_secret_ref, kafka.tls.client_cert_secret_ref)
    match sorted({ref.name for ref in refs if ref is not None}):
        case []:
            return []
        case [one]:
            return [f"Mount Secret {one} at {TLS_MOUNT}."]
        case several:
            return [f"Mount Secrets {' and '.join(several)} at {TLS_MOUNT}, as one projected volume."]
