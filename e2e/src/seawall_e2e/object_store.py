"""An S3 server on pods: versitygw, whose bucket is there from the start."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import yaml

from seawall_e2e.cluster import REPOSITORY, START_SECONDS
from seawall_e2e.commands import kubectl, run
from seawall_e2e.objects import apply, wait_complete

S3 = REPOSITORY / "e2e/platform/s3"
BUCKET = "wal"
USER = "s3-root"
"""The Secret with the keys of the user who may do all."""


def build_s3_image() -> str:
    """Builds the image unless it was built, loads it into the cluster, and returns its reference."""
    return run(str(S3 / "image.sh"), timeout=1200, show_progress=True).strip()


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A server in a namespace.

    Attributes:
        storage: `spec.backup.storage` of a WALCluster there.
        keys: of the user who may do all, which nobody should read anywhere.
    """

    storage: dict[str, Any]
    keys: tuple[str, str]


def start_object_store(namespace: str, image: str) -> ObjectStore:
    """Starts it, and waits until it listens."""
    keys = (secrets.token_hex(8), secrets.token_hex(16))
    placed, data = {"namespace": namespace}, dict(zip(("accessKeyId", "secretAccessKey"), keys, strict=True))
    apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": USER, **placed}, "stringData": data})
    manifests = (S3 / "s3.yaml").read_text().replace("@S3@", image).replace("@BUCKET@", BUCKET)
    for each in yaml.safe_load_all(manifests):
        apply({**each, "metadata": {**each["metadata"], **placed}})

    def explain() -> str:
        return kubectl("-n", namespace, "describe", "pods", "-l", "app.kubernetes.io/name=s3")

    wait_complete(namespace, "deployments", "s3", within=START_SECONDS, explain=explain)
    server = {"endpoint": f"http://s3.{namespace}:7070", "credentialsSecretRef": {"name": USER}}
    return ObjectStore({"s3": {"bucket": BUCKET, "prefix": "greptimedb", **server}}, keys)
