"""A pod for Kafka clients: pods, and so the brokers, cannot be reached from the host."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seawall_e2e.cluster import PLAINTEXT, START_SECONDS
from seawall_e2e.commands import CommandFailed, kubectl
from seawall_e2e.objects import apply, find
from seawall_e2e.shell import Shell
from seawall_e2e.waiting import wait_until

SCRIPT, LOAD = Path(__file__).with_name("in_pod.py"), Path(__file__).with_name("load.py")


def toolbox_shell(namespace: str) -> Shell:
    """`in_pod.py` in the toolbox of a namespace."""
    return Shell(namespace, "toolbox", ("python", "-c", SCRIPT.read_text()))


@dataclass(frozen=True, slots=True)
class Toolbox:
    """A pod of the operator's image, which has Python and confluent-kafka."""

    namespace: str
    image: str
    shell: Shell

    def start(self) -> None:
        """Starts the pod and waits until commands can be run in it."""
        account = (self.namespace, "serviceaccounts", "default")
        wait_until(
            lambda: find(*account) is not None, "a new namespace has its account, without which no pod may be made"
        )
        apply(self._pod())
        wait = ("wait", "pod/toolbox", "--for=condition=Ready", f"--timeout={START_SECONDS}s")
        kubectl("-n", self.namespace, *wait, timeout=START_SECONDS + 10)

    def topics(self, prefix: str) -> dict[str, Any]:
        """The topics with this prefix, as `in_pod.describe` gives them."""
        found: dict[str, Any] = self.shell.ask("describe", prefix)
        return found

    def under_replicated(self, prefix: str) -> list[str]:
        """The topics with this prefix of which a replica is not in sync."""
        return list(self.shell.ask("under_replicated", prefix))

    def offsets(self, prefix: str) -> dict[str, tuple[int, int]]:
        """Topic → log start and high watermark, of the topics with this prefix."""
        return {topic: (start, end) for topic, (start, end) in self.shell.ask("offsets", prefix).items()}

    @contextmanager
    def sampling(self, prefix: str, namespace: str) -> Iterator[Callable[[], dict[str, dict[str, int]] | None]]:
        """A function that reads log starts, markers and flushed ids of the database in a namespace, as `in_pod.sample`.

        It has a process of its own: whoever samples in a thread waits for nobody.
        """
        with closing(toolbox_shell(self.namespace)) as shell:
            yield lambda: shell.ask("sample", prefix, namespace)

    @contextmanager
    def loading(
        self, topics: Sequence[str], records: int, servers: Sequence[str] = PLAINTEXT
    ) -> Iterator[dict[str, Any]]:
        """Writes to these topics all the time, each of which has so many records of a kilobyte when it begins.

        At its end the dictionary has `acknowledged`, `failed` and `lost`, as `load.main` says them.
        """
        of_kafka = ("env", f"BOOTSTRAP_SERVERS={','.join(servers)}")
        in_pod = ("kubectl", "-n", self.namespace, "exec", "-i", "toolbox", "--")
        command = (*in_pod, *of_kafka, "python", "-c", LOAD.read_text())
        told: dict[str, Any] = {}
        words = (*command, *topics, str(records))
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
            if process.stdin is None or process.stdout is None:
                raise ValueError("a process with pipes has pipes")
            try:
                if process.stdout.readline().strip() != "writing":
                    raise CommandFailed(words[:6], "did not begin to write", "")
                yield told
                process.stdin.write("\n")
                told.update(json.loads(process.stdout.readline()))
            finally:
                process.kill()

    def alter(self, topic: str, key: str, value: str) -> None:
        """Sets a config of a topic behind the operator's back."""
        self.shell.ask("alter", topic, key, value)

    def cut(self, topic: str, offset: int) -> None:
        """Deletes the records of a topic before an offset behind the operator's back."""
        self.shell.ask("cut", topic, str(offset))

    def spoil(self, topic: str) -> int:
        """Appends a record with a value and no key, which no database wrote; its offset."""
        return int(self.shell.ask("spoil", topic))

    def pierce(self, topic: str) -> int:
        """Makes a hole at the end of a topic; the offset that has no record."""
        return int(self.shell.ask("pierce", topic))

    def repeat(self, topic: str, entries: range, region: int, *, times: int = 1) -> int:
        """Appends what a region wrote at these offsets once more, or so many times; how many records that are."""
        words = (str(entries.start), str(entries.stop), str(region), str(times))
        return int(self.shell.ask("repeat", topic, *words))

    def delete_topics(self, prefix: str) -> None:
        """Deletes the topics with this prefix."""
        self.shell.ask("delete", prefix)

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
