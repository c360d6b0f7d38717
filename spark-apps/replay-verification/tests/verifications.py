"""Runs the program as spark-submit would, in this process, and reads what it leaves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from replay_verification.__main__ import main


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run left; without a report it was refused or interrupted."""

    code: int
    summary: dict[str, Any]
    report: dict[str, Any] | None
    page: str

    def found(self, topic: str) -> list[tuple[str, int | None, int | None]]:
        """Kind, offset and region of what was found in a topic, worst first."""
        assert self.report is not None, self.summary
        return [(f["kind"], f["offset"], f["region"]) for f in self.report["findings"] if f["topic"] == topic]

    def verified(self) -> set[str]:
        """The topics that were."""
        assert self.report is not None, self.summary
        return {topic["name"] for topic in self.report["topics"] if topic["verified"]}


def verify(spark: SparkSession, folder: Path, request: bytes, *, report_uri: str | None = None) -> Answer:
    """Runs one request; its report goes to a folder that is not there yet, or to this URI."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "request.json").write_bytes(request)
    report, summary = folder / "reports" / "report.json", folder / "summary.json"
    arguments = [
        "--request",
        str(folder / "request.json"),
        "--report",
        report_uri or report.as_uri(),
        "--summary",
        str(summary),
    ]
    code = main(arguments, spark)
    found = report.exists()
    return Answer(
        code,
        json.loads(summary.read_bytes()),
        json.loads(report.read_bytes()) if found else None,
        report.with_suffix(".html").read_text() if found else "",
    )
