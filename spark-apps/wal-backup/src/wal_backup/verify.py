"""Proves backups from what the store has of them, at the level that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from wal_backup.check import ObjectToCheck, check_object, find_unnamed, objects_of
from wal_backup.decode import decode
from wal_backup.findings import Finding
from wal_backup.manifest import Manifest
from wal_backup.request import Level
from wal_backup.store import Place
from walrecord import drops_repeated_middle


@dataclass(frozen=True, slots=True)
class Proof:
    """What is wrong, and how many warnings of Integrity there are; without findings the level is proved."""

    findings: tuple[Finding, ...]
    warnings: int = 0


class Verifier:
    """Reads again what manifests name."""

    def __init__(self, spark: SparkSession, place: Place, level: Level, database_version: str | None) -> None:
        self._spark, self._place, self._level = spark, place, level
        self._drops_repeats = drops_repeated_middle(database_version)

    def verify(self, folder: str, manifests: Sequence[Manifest]) -> Proof:
        """Reads what these manifests of the chain at `folder` name; they follow each other.

        Raises:
            Refused, Interrupted: the store does not let us, or does not answer.
        """
        if self._level is Level.NONE:
            return Proof(())
        objects = [each for manifest in manifests for each in objects_of(folder, manifest)]
        found = [finding for manifest in manifests for finding in find_unnamed(manifest)] + self._check(objects)
        if found or self._level is not Level.INTEGRITY:
            return Proof(tuple(found))  # records that are not those that were written prove nothing of the log
        decoded = decode(self._spark, self._place, manifests, objects, drops_repeats=self._drops_repeats)
        return Proof(decoded.findings, decoded.warnings)

    def _check(self, objects: Sequence[ObjectToCheck]) -> list[Finding]:
        if not objects:
            return []
        place = self._place
        parts = self._spark.sparkContext.parallelize(objects, len(objects))
        return parts.flatMap(lambda each: check_object(place, each)).collect()
