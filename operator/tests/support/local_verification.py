"""`seawall verify --local` as a person types it, by the Spark that the tests have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from seawall_e2e.loopback.spark import spark_variables
from tests.support.site import Site


def verify_on_this_machine(site: Site, *, within: float) -> tuple[str, dict[str, Any]]:
    """What it prints, and its report; it must say that the log replays."""
    command = [sys.executable, "-m", "seawall", "verify", "wal", "-n", site.namespace, "--local"]
    environment = {
        **spark_variables(),
        "KUBECONFIG": str(site.kube.server.kubeconfig),
        "SPARK_MASTER": "local[1]",
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
