"""What Kafka's releases know of each other: the levels of features, which an older release cannot read.

An upgrade is two steps (KIP-584, KIP-778): all nodes run the newer release, and then its features are finalized. Until
that, an edit of the version goes back; afterwards nobody can: a node of an older release ends at its start.
Each feature can be finalized alone, before metadata.version is (KIP-1022).
"""

from __future__ import annotations

from collections.abc import Mapping

from seawall.domain.brokers.view import ELIGIBLE_LEADER_REPLICAS, METADATA_VERSION

STREAMS_VERSION = "streams.version"
_OF_EACH = {
    ELIGIBLE_LEADER_REPLICAS: 1, "group.version": 1, "kraft.version": 1, "share.version": 1, "transaction.version": 2,
}  # fmt: skip
LEVELS: Mapping[str, Mapping[str, int]] = {
    "4.1": {**_OF_EACH, METADATA_VERSION: 27, STREAMS_VERSION: 0},
    "4.2": {**_OF_EACH, METADATA_VERSION: 29, STREAMS_VERSION: 1},
    "4.3": {**_OF_EACH, METADATA_VERSION: 30, STREAMS_VERSION: 1},
}
"""By release the newest level of each feature that it knows without unstable ones, which a managed Kafka cannot have.

`LATEST_PRODUCTION` of each feature of Kafka 4.1.1, 4.2.0 and 4.3.1. `kafka-storage.sh version-mapping
--release-version` says which are finalized with a release; it may know more: 4.1 share.version 1.
"""


def release_of(version: str) -> str:
    """4.3 of 4.3.1: patches have the same levels."""
    return version.rpartition(".")[0]


def why_too_old(version: str, features: Mapping[str, int]) -> str | None:
    """Why a node of this version would not start with what is finalized; None: it would, or that is not known."""
    known = LEVELS[release_of(version)]
    for feature, level in sorted(features.items()):
        if level > known.get(feature, level):
            reader = next((release for release, levels in LEVELS.items() if levels[feature] >= level), None)
            needed = "which only a newer Kafka knows" if reader is None else f"which Kafka {reader} knows"
            return f"{feature} is finalized at {level}, {needed}, and {version} is declared"
    return None


def goes_back_to(version: str, features: Mapping[str, int]) -> str | None:
    """The oldest release that can still be gone back to, if that is an older one than this version's; None: it is not.

    Of levels between two releases the newer one is needed. A feature that no release here knows is promised to none.
    """
    if METADATA_VERSION not in features:
        return None
    older = list(LEVELS)[: list(LEVELS).index(release_of(version))]
    return next((release for release in older if _reads(LEVELS[release], features)), None)


def _reads(known: Mapping[str, int], features: Mapping[str, int]) -> bool:
    return all(level <= known.get(feature, 0) for feature, level in features.items())
