"""What the second reading of repeats (`sparkjob.integrity.reuse`) adds to what was seen, and what it takes away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pyspark.sql import Row

from replay_verification.report import Seen
from sparkjob.integrity.findings import Kind
from sparkjob.integrity.reuse import find_reused
from sparkjob.integrity.schemas import unsigned


def add_reused(lines: Sequence[Row], seen: Seen) -> None:
    """Adds what `reused` gave; the sentence that such an entry is legal goes."""
    told: dict[tuple[str, int], int] = defaultdict(int)
    seen.findings += find_reused(lines)
    for line in lines:
        topic, region = line["topic"], unsigned(line["region"])
        told[topic, region] += 1
        if told[topic, region] == 1:
            seen.untold_errors += line["count"]
        seen.untold_errors -= 1
    at = {(line["topic"], unsigned(line["region"]), line["offset"]) for line in lines}
    seen.findings = [
        found
        for found in seen.findings
        if found.kind is not Kind.REPEATED_SEQUENCE or (found.topic, found.region, found.offset) not in at
    ]
