"""The part of the Spark Operator for backups: each application that appears is run for real, as a process."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from seawall_e2e.loopback.s3 import S3Process
from tests.support.kube import Object
from tests.support.spark import SparkOperatorRole

_CONTAINER = {"name": "spark-kubernetes-driver", "image": "x", "imageID": "", "ready": False, "restartCount": 0}


@dataclass
class BackupRunner:
    """Runs `wal-backup` on what the operator asks for; the pods' identity at the store is its environment's."""

    role: SparkOperatorRole
    s3: S3Process
    ran: list[str] = field(default_factory=list)

    def run_new(self) -> None:
        """Runs those that were not run yet, to their ends."""
        for application in self.role.applications():
            name = application["metadata"]["name"]
            if name not in self.ran:
                self.ran.append(name)
                self._run(name, application)

    def wal_backup(self, command: str, request: Path, *arguments: str) -> tuple[int, str]:
        """The exit code of the program, and its summary."""
        summary = request.with_name("summary.json")
        keys = {"AWS_ACCESS_KEY_ID": self.s3.access_key_id, "AWS_SECRET_ACCESS_KEY": self.s3.secret_access_key}
        said = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "wal_backup", command, "--request", request, "--summary", summary, *arguments],
            env={**os.environ, **keys, "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            check=False,
            text=True,
        )
        return said.returncode, summary.read_text() if summary.exists() else said.stderr[-2000:]

    def _run(self, name: str, application: Object) -> None:
        path = f"/api/v1/namespaces/{self.role.namespace}/configmaps/{name}"
        stored = self.role.kube.request("GET", path)["binaryData"]["request.json.gz"]
        arguments = application["spec"]["arguments"]
        with tempfile.TemporaryDirectory() as folder:
            request = Path(folder, "request.json.gz")
            request.write_bytes(base64.b64decode(stored))
            digest = arguments[arguments.index("--digest") + 1]
            code, summary = self.wal_backup(arguments[0], request, "--digest", digest)
        ended = {"terminated": {"exitCode": code, "message": summary}}
        phase = "Failed" if code else "Succeeded"
        self.role.report_driver(name, {"phase": phase, "containerStatuses": [{**_CONTAINER, "state": ended}]})
        self.role.report(name, "FAILED" if code else "COMPLETED")
