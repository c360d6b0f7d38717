"""`seawall verify --local` as a person types it, with Spark's jars where the tests have them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from seawall_e2e.loopback.processes import platform_folder
from tests.support.site import Site

DOWNLOAD_SECONDS = 900.0


def verify_on_this_machine(site: Site, *, within: float) -> tuple[str, dict[str, Any]]:
    """What it prints, and its report; it must say that the log replays."""
    command = [sys.executable, "-m", "seawall", "verify", "wal", "-n", site.namespace, "--local"]
    environment = {
        "KUBECONFIG": str(site.kube.server.kubeconfig),
        "SEAWALL_SPARK_JARS": str(platform_folder("spark/jars.sh", DOWNLOAD_SECONDS)),
        "SPARK_MASTER": "local[1]",
        "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # short work on a busy machine
        "PYSPARK_PYTHON": sys.executable,
    }
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        done = subprocess.run(  # noqa: S603 - our own program
            [*command, "--report", report.as_uri()],
            env={**os.environ, **environment, "SPARK_LOCAL_DIRS": folder},
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}\n{site.operators[0].log()[-4000:]}"
        found: dict[str, Any] = json.loads(report.read_text())
    return done.stdout, found
