"""What Kafka's releases know of each other: the levels of metadata.version, which an older release cannot read.

An upgrade is two steps (KIP-584, KIP-778): all nodes run the newer release, and then its features are finalized. Until
that, an edit of the version goes back; afterwards nobody can: a node of an older release ends at its start.
"""

from __future__ import annotations

from collections.abc import Mapping

from seawall.domain.brokers.view import METADATA_VERSION

LEVELS: Mapping[str, int] = {"4.1": 27, "4.2": 29, "4.3": 30}
"""By release the newest level that it knows: `kafka-storage.sh version-mapping --release-version`, of Kafka 4.3.1."""


def release_of(version: str) -> str:
    """4.3 of 4.3.1: patches have the same levels."""
    return version.rpartition(".")[0]


def why_too_old(version: str, features: Mapping[str, int]) -> str | None:
    """Why a node of this version would not start with what is finalized; None: it would, or that is not known."""
    level = features.get(METADATA_VERSION)
    if level is None or level <= LEVELS[release_of(version)]:
        return None
    readers = _readers(level)
    needed = f"which Kafka {readers[0]} knows" if readers else "which only a newer Kafka knows"
    return f"{METADATA_VERSION} is finalized at {level}, {needed}, and {version} is declared"


def goes_back_to(version: str, features: Mapping[str, int]) -> str | None:
    """The oldest release that can still be gone back to, if that is an older one than this version's; None: it is not.

    Of levels between two releases the newer one is needed.
    """
    level = features.get(METADATA_VERSION)
    readers = [] if level is None else _readers(level)
    return readers[0] if readers and LEVELS[readers[0]] < LEVELS[release_of(version)] else None


def _readers(level: int) -> list[str]:
    """The releases that know it, the oldest first."""
    return [release for release, known in LEVELS.items() if known >= level]
