"""The result of a benchmark: JSON in `bench/results/<name>.json`, in the format of `result_format`.

A result compares a value with a limit or with a peer that was measured in the same run.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from result_format import require_valid

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the report; the value is the median of the samples.

    `max_ratio` bounds value / against_value, `max_value` bounds the value; with neither the line only informs.
    """

    metric: str
    unit: str
    samples: Sequence[float]
    against: str = ""
    against_samples: Sequence[float] = ()
    max_ratio: float | None = None
    max_value: float | None = None

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.samples)

    @property
    def against_value(self) -> float | None:
        """The peer's median."""
        return statistics.median(self.against_samples) if self.against_samples else None

    @property
    def ratio(self) -> float | None:
        """How often the peer's value goes into ours."""
        return self.value / self.against_value if self.against_value else None

    @property
    def goal(self) -> str | None:
        """The bound."""
        if self.max_ratio is not None:
            return f"ratio ≤ {self.max_ratio:g}"
        return None if self.max_value is None else f"value ≤ {self.max_value:g}"

    @property
    def met(self) -> bool | None:
        """Whether the value keeps its bound; None when there is none."""
        if self.max_ratio is not None:
            return self.ratio is not None and self.ratio <= self.max_ratio
        return None if self.max_value is None else self.value <= self.max_value

    def as_json(self) -> dict[str, Any]:
        """The line as design documents it, the range of its samples, and the samples."""
        return {
            "metric": self.metric,
            "value": _rounded(self.value),
            "unit": self.unit,
            "min": _rounded(min(self.samples)),
            "max": _rounded(max(self.samples)),
            "against": self.against or None,
            "againstValue": _rounded(self.against_value),
            "againstMin": _rounded(min(self.against_samples, default=None)),
            "againstMax": _rounded(max(self.against_samples, default=None)),
            "ratio": _rounded(self.ratio),
            "goal": self.goal,
            "met": self.met,
            "samples": [_rounded(sample) for sample in self.samples],
            "againstSamples": [_rounded(sample) for sample in self.against_samples],
        }


@dataclass(slots=True)
class Report:
    """All lines of one run. The load is the one that the run found, before it added its own."""

    name: str
    command: str
    setting: dict[str, Any]
    results: list[Result] = field(default_factory=list)
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    def write(self, folder: Path) -> Path:
        """Writes the JSON.

        Raises:
            ValueError: it is not of the format, or a peer did not run.
        """
        body = {
            "name": self.name,
            "command": self.command,
            "load1": round(self.load, 2),
            "commit": _commit(),
            "machine": _machine(),
            "setting": self.setting,
            "results": [result.as_json() for result in self.results],
        }
        require_valid(body)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n")
        return path


def _rounded(value: float | None) -> float | None:
    """Five digits: a time may be microseconds or minutes."""
    return None if value is None else float(f"{value:.5g}")


def _commit() -> str:
    """The commit, and whether what is measured differs from it."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    return f"{commit} with changes" if _git("status", "--porcelain", "--", "operator/src", "bench/*.py") else commit


def _git(*args: str) -> str:
    return subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _machine() -> dict[str, float | int | None]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cores": os.cpu_count(), "memoryGiB": round(memory / 2**30, 1)}
