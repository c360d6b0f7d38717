"""WALVerifications for tests that only read what they found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from seawall.api.v1alpha1.verification import WALVerification

ENDED = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
METADATA = {
    "namespace": "db",
    "name": "nightly",
    "uid": "uid-1",
    "generation": 1,
    "resourceVersion": "1",
    "creationTimestamp": ENDED,
}
SPEC = {"clusterRef": {"name": "wal"}, "level": "Integrity", "spark": {"image": "replay-verification:1"}}


def make_verification(status: dict[str, Any], **spec: Any) -> WALVerification:
    """One of the integrity of WALCluster `wal` that ended, unless told otherwise."""
    over = {"completionTime": ENDED.isoformat(), **status}
    return WALVerification.parse({"metadata": METADATA, "spec": {**SPEC, **spec}, "status": over})
