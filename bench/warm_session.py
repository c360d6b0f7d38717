"""Rounds in one warm Spark session, which is a process of its own: how they are begun, and how they run wal-backup."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from wal_backup.__main__ import main as wal_backup


def session_environment(folder: Path, heap: str, *options: str) -> dict[str, str]:
    """The variables of a Spark on both cores; `options` are spark-submit's."""
    return {
        "SPARK_MASTER": "local[2]",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": " ".join(["--driver-memory", heap, *options, "pyspark-shell"]),
        "SPARK_LOCAL_DIRS": str(folder),
    }


def run_rounds(program: str, work: object, folder: Path, variables: dict[str, str]) -> Any:
    """Runs a program of this folder with its work as a file of JSON; returns the JSON of the last line that it prints.

    Raises:
        RuntimeError: it failed.
    """
    path = folder / "work.json"
    path.write_text(json.dumps(work))
    command = [sys.executable, str(Path(__file__).with_name(program)), str(path)]
    variables = {**os.environ, **variables}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode:
        raise RuntimeError(f"the rounds ended with {done.returncode}\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_job(command: str, request: dict[str, Any], folder: str, spark: SparkSession) -> dict[str, Any]:
    """Runs a command of wal-backup in this session, and returns its summary.

    Raises:
        RuntimeError: it did not end well.
    """
    path, summary = (Path(folder) / name for name in ("request.json", "summary.json"))
    path.write_text(json.dumps(request))
    code = wal_backup([command, "--request", str(path), "--summary", str(summary)], spark)
    found: dict[str, Any] = json.loads(summary.read_bytes())
    if code:
        raise RuntimeError(f"{command} ended with {code}: {found['message']}")
    return found
