"""Where things are in a store: `seawall-wal/1/<cluster id>/<chain>/{data,manifests,plans}`, and `tmp` in a folder."""

from __future__ import annotations

from uuid import uuid4

ROOT = "seawall-wal/1"
_PARQUET = ".parquet"


def chains_folder(cluster_id: str) -> str:
    """All chains of a Kafka."""
    return f"{ROOT}/{cluster_id}"


def chain_folder(cluster_id: str, chain: str) -> str:
    """One chain."""
    return f"{chains_folder(cluster_id)}/{chain}"


def manifests_folder(chain: str) -> str:
    """The manifests of a chain that is at this path."""
    return f"{chain}/manifests"


def manifest_name(backup: str, attempt: int, place: int) -> str:
    """A manifest below `manifests` of its chain, by its place there: 0 of a full backup."""
    return f"{backup}-{attempt}-{place:06}.json.gz"


def object_path(backup: str, attempt: int, driver: str, task: int, task_attempt: int) -> str:
    """An object below its chain: no other task, attempt of this one, or driver of the same request writes to the same.

    Each driver counts its task attempts from 0, and two of one request may split the log otherwise.
    """
    return f"{attempt_folder(backup, attempt)}/{task:05}-{task_attempt}-{driver}{_PARQUET}"


def part_path(path: str, part: int) -> str:
    """Where the objects of a task are whose records are too many for one; the first has the path itself."""
    return path if part == 0 else f"{path.removesuffix(_PARQUET)}-{part}{_PARQUET}"


def attempt_folder(backup: str, attempt: int) -> str:
    """The objects of an attempt below its chain."""
    return f"data/{backup}-{attempt}"


def partial_path(path: str) -> str:
    """Where an object of a chain is, in a folder, until it is whole: nobody lists it, and it goes with its chain."""
    depth = len(chain_folder("cluster", "chain").split("/"))
    return "/".join((*path.split("/")[:-1][:depth], "tmp", uuid4().hex))
