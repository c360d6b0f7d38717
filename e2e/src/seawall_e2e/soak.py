"""What a soak came to, as a file that is committed."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from typing import Any

from seawall_e2e.cluster import REPOSITORY

SECONDS = int(os.environ.get("SOAK_SECONDS", "600"))
"""How long a soak lasts."""
OFTEN = 0.8
"""Seconds between the batches of a thread of the writers."""
RESULTS = REPOSITORY / "e2e/soak/results"
CHANGES = ("git", "status", "--porcelain", "--", "e2e", "operator/src", "spark-apps")


def write_counts(name: str, counts: dict[str, Any]) -> None:
    """Writes what a run came to. A command that failed is told in it, and the folder of the checkout is nobody's."""
    body = {
        "command": f"make e2e-soak SOAK_SECONDS={SECONDS}",
        "commit": said("git", "rev-parse", "--short=12", "HEAD") + (" with changes" if said(*CHANGES) else ""),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        **counts,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(body, indent=2).replace(f"{REPOSITORY}/", "") + "\n")


def said(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY).stdout.strip()
