"""A pod for Kafka clients: pods, and so the brokers, cannot be reached from the host."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seawall_e2e.cluster import PLAINTEXT, START_SECONDS
from seawall_e2e.commands import apply, kubectl

SCRIPT = Path(__file__).with_name("in_pod.py")


@dataclass(frozen=True, slots=True)
class Toolbox:
    """A pod of the operator's image, which has Python and confluent-kafka."""

    namespace: str
    image: str

    def start(self) -> None:
        """Starts the pod and waits until commands can be run in it."""
        apply(self._pod())
        wait = ("wait", "pod/toolbox", "--for=condition=Ready", f"--timeout={START_SECONDS}s")
        kubectl("-n", self.namespace, *wait, timeout=START_SECONDS + 10)

    def topics(self, prefix: str) -> dict[str, Any]:
        """The topics with this prefix, as `in_pod.describe` gives them."""
        found: dict[str, Any] = self._run("describe", prefix)
        return found

    def under_replicated(self, prefix: str) -> list[str]:
        """The topics with this prefix of which a replica is not in sync."""
        return list(self._run("under_replicated", prefix))

    def offsets(self, prefix: str) -> dict[str, tuple[int, int]]:
        """Topic → log start and high watermark, of the topics with this prefix."""
        return {topic: (start, end) for topic, (start, end) in self._run("offsets", prefix).items()}

    @contextmanager
    def sampling(self, prefix: str, namespace: str) -> Iterator[Callable[[], dict[str, dict[str, int]] | None]]:
        """A function that reads log starts, markers and flushed ids of the database in a namespace, as `in_pod.sample`.

        It is one process in the pod, however often it is called.
        """
        command = ("kubectl", "-n", self.namespace, "exec", "-i", "toolbox", "--", "python", "-c", SCRIPT.read_text())
        words, pipe = (*command, "sample", prefix, namespace), subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:

            def sample() -> dict[str, dict[str, int]] | None:
                if process.stdin is None or process.stdout is None:
                    raise ValueError("a process with pipes has pipes")
                process.stdin.write("now\n")
                found: dict[str, dict[str, int]] | None = json.loads(process.stdout.readline())
                return found

            try:
                yield sample
            finally:
                process.kill()

    def alter(self, topic: str, key: str, value: str) -> None:
        """Sets a config of a topic behind the operator's back."""
        self._run("alter", topic, key, value)

    def delete_topics(self, prefix: str) -> None:
        """Deletes the topics with this prefix."""
        self._run("delete", prefix)

    def _run(self, *words: str) -> Any:
        command = ("exec", "-i", "toolbox", "--", "python", "-", *words)
        return json.loads(kubectl("-n", self.namespace, *command, stdin=SCRIPT.read_text()))

    def _pod(self) -> dict[str, Any]:
        container = {
            "name": "toolbox",
            "image": self.image,
            "command": ["python", "-c", "import signal; signal.pause()"],
            "env": [{"name": "BOOTSTRAP_SERVERS", "value": ",".join(PLAINTEXT)}],
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "toolbox", "namespace": self.namespace},
            "spec": {
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 0,
                "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [container],
            },
        }
