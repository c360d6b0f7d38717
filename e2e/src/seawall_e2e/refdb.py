"""The reference database on pods: a metasrv, a frontend and three datanodes, with an etcd of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import yaml

from seawall_e2e.cluster import REPOSITORY, START_SECONDS, signal_in_pod
from seawall_e2e.commands import CommandFailed, Object, kubectl, run
from seawall_e2e.objects import apply, containers, count_restarts, find, get, is_ready, items, wait_complete
from seawall_e2e.shell import Shell
from seawall_e2e.waiting import BOUND, wait_until

REFDB = REPOSITORY / "e2e/refdb"
DATANODES = 3
WAL_CONFIG_MAP = "greptimedb-wal"
"""Its pods mount this ConfigMap, which a WALCluster with `dataPlane.walConfig` renders."""

INTERNAL_ERROR = 1003
"""The code with which a query fails that needs a dead datanode."""

_PARTS = {
    "etcd": (("statefulsets", "etcd"),),
    "refdb": (("deployments", "metasrv"), ("deployments", "frontend"), ("statefulsets", "datanode")),
}
"""A file of manifests each, with what to wait for."""
_SIGKILLED = 137
_HOLD = "/var/lib/refdb/hold"
ASK = """
import json, sys, time, urllib.error, urllib.parse, urllib.request
def ask(url, data):
    for attempts_left in reversed(range(50)):
        try:
            return urllib.request.urlopen(url, data, 50)
        except urllib.error.HTTPError as refused:
            return refused
        except urllib.error.URLError as error:  # a Service leads to a new pod a moment after it is ready
            if not (isinstance(error.reason, ConnectionRefusedError) and attempts_left):
                raise
            time.sleep(0.2)
for question in sys.stdin:
    url, form = json.loads(question)
    data = urllib.parse.urlencode(form).encode() if form else None
    try:
        said = {"answer": json.load(ask(url, data))}
    except OSError as error:
        said = {"error": repr(error)}
    print(json.dumps(said), flush=True)
"""


_PUT = """
import base64, json, sys, urllib.request
key, value = (base64.b64encode(word.encode()).decode() for word in sys.argv[1:])
urllib.request.urlopen("http://etcd:2379/v3/kv/put", json.dumps({"key": key, "value": value}).encode(), 20).read()
"""


def greptimedb(namespace: str) -> dict[str, Any]:
    """How the operator reaches the reference database in a namespace, as in `spec.dataPlane.greptimedb`."""
    return {
        "version": "1.1",
        "metasrv": f"http://metasrv.{namespace}:4000",
        "frontend": f"http://frontend.{namespace}:4000",
        "metadataStore": {"etcd": {"endpoints": [f"http://etcd.{namespace}:2379"]}},
    }


@dataclass(frozen=True, slots=True)
class RefDbImages:
    """References of the images of the database and of its etcd."""

    refdb: str
    etcd: str


def build_refdb_images() -> RefDbImages:
    """Builds the images unless they were built, and loads them into the cluster."""
    refdb, etcd = run(str(REFDB / "images.sh"), timeout=1200, show_progress=True).split()
    return RefDbImages(refdb, etcd)


def in_sight(namespace: str) -> dict[str, Any]:
    """`spec.dataPlane` of a WALCluster that looks at it. Its metasrv does not prune: Seawall does all of it."""
    database = {**greptimedb(namespace), "autoPrune": "Disabled"}
    return {"walConfig": {"configMapName": WAL_CONFIG_MAP}, "greptimedb": database}


@dataclass(frozen=True)
class RefDb:
    """A reference database in a namespace."""

    namespace: str
    images: RefDbImages
    region_failover: bool = False
    """Whether the metasrv moves the regions of a dead datanode by itself."""

    def start(self) -> None:
        """Starts it and waits until every datanode has reported."""
        for part, workloads in _PARTS.items():
            apply(*map(self._placed, yaml.safe_load_all(self._manifests(part))))
            for kind, name in workloads:
                wait_complete(self.namespace, kind, name, within=START_SECONDS, explain=self.explain)
        wait_until(
            lambda: len(self._ask(("http://metasrv:4000/admin/heartbeat", {}))[0]) == DATANODES,
            "every datanode has reported",
            within=START_SECONDS,
            explain=self.explain,
        )

    def remove(self) -> None:
        """Removes it with its data, if it is there."""
        for part in reversed(_PARTS):
            self._kubectl("delete", "--ignore-not-found", "-f", "-", stdin=self._manifests(part))
        self._kubectl("delete", "pvc", "-l", "app.kubernetes.io/name in (refdb, etcd)")

    def in_maintenance(self) -> bool:
        """Whether its metasrv is in maintenance: it moves no region of a datanode that is away."""
        (answer,) = self._ask(("http://metasrv:4000/admin/maintenance/status", {}))
        if "enabled" not in answer:
            raise CommandFailed(("maintenance", "status"), "was refused", str(answer))
        return bool(answer["enabled"])

    def datanode_pods(self) -> list[Object]:
        """The pods of its datanodes."""
        selector = "app.kubernetes.io/name=refdb,app.kubernetes.io/component=datanode"
        return items(self.namespace, "pods", labels=selector)

    def execute(self, *statements: str) -> list[dict[str, Any]]:
        """Runs statements; the frontend's answers as they came, refusals too."""
        url = "http://frontend:4000/v1/sql"
        return self._ask(*((url, {"sql": statement, "consistent_cut": "1"}) for statement in statements))

    def rows(self, select: str) -> list[list[Any]]:
        """The rows of a SELECT that must work."""
        (answer,) = self.execute(select)
        if "code" in answer:
            raise AssertionError(f"{select}: {answer}\n{self.explain()}")
        rows: list[list[Any]] = answer["output"][0]["records"]["rows"]
        return rows

    @contextmanager
    def killed(self, *datanodes: int) -> Iterator[None]:
        """Kills datanodes' processes with SIGKILL and holds them down; at the end they start, and replay."""
        pods = [f"datanode-{each}" for each in datanodes]
        try:
            self.kill(*datanodes)
            yield
        finally:
            for pod in pods:
                self.let_go(pod)
        for pod in pods:  # ready: it listens, which it does only after its replay
            wait_until(partial(self._is_ready, pod), f"{pod} is ready again", explain=self.explain)

    def kill(self, *datanodes: int) -> None:
        """Kills datanodes' processes with SIGKILL; they stay down until they are let go."""
        restarts = {f"datanode-{each}": self.restarts(f"datanode-{each}") for each in datanodes}
        for pod in restarts:
            self.hold_back(pod)
        for datanode in datanodes:
            self._signal(datanode, "KILL")
        for pod, before in restarts.items():
            self._wait_killed(pod, before)

    def scale(self, datanodes: int) -> None:
        """Somebody scales the datanodes; those that stay are ready, and the others gone, when it returns."""
        self._kubectl("scale", "statefulset", "datanode", f"--replicas={datanodes}")

        def is_done() -> bool:
            pods = self.datanode_pods()
            return len(pods) == datanodes and all(map(is_ready, pods))

        wait_until(is_done, f"there are {datanodes} datanodes", within=START_SECONDS, explain=self.explain)

    def stop(self) -> None:
        """Somebody stops all of it; its etcd goes on. When it returns, nobody writes there any more."""
        self._kubectl("scale", "deployment", "metasrv", "frontend", "--replicas=0")
        self.scale(0)
        wait_until(lambda: not items(self.namespace, "pods", labels="app.kubernetes.io/name=refdb"), "it is stopped")

    def start_again(self) -> None:
        """And starts it: who listens has replayed."""
        self._kubectl("scale", "deployment", "metasrv", "frontend", "--replicas=1")
        self.scale(DATANODES)
        for kind, name in _PARTS["refdb"]:
            wait_complete(self.namespace, kind, name, within=START_SECONDS, explain=self.explain)

    def restart(self, datanode: int, *, within: float = BOUND) -> None:
        """Deletes a datanode's pod, whose container then need not wait for its back-off, until it is ready again."""
        pod = f"datanode-{datanode}"
        uid = self._pod(pod)["metadata"]["uid"]
        self._kubectl("delete", "pod", pod)

        def is_back() -> bool:
            found = find(self.namespace, "pods", pod)
            return found is not None and found["metadata"]["uid"] != uid and is_ready(found)

        wait_until(is_back, f"{pod} is ready again", within=within, explain=self.explain)

    def flushed(self, region: int) -> int:
        """The flushed entry id of a region, as its datanode reported it last."""
        (histories,) = self._ask(("http://metasrv:4000/admin/heartbeat", {}))
        regions = [each for history in histories for each in history[-1]["region_stats"] if each["id"] == region]
        return max(int(each["region_manifest"]["Mito"]["flushed_entry_id"]) for each in regions)

    def set_checkpoint(self, topic: str, region: int, entry: int) -> None:
        """A person writes into the metadata that a region needs nothing up to this entry: it then opens behind it."""
        pair = (f"__topic_region/{topic}/{region}", json.dumps({"checkpoint": {"entry_id": entry}}))
        self._kubectl("exec", "deployment/frontend", "--", "python", "-c", _PUT, *pair)

    def hold_back(self, pod: str) -> None:
        """From its next start on the datanode stays down, as if its replay were long, until it is let go."""
        self._kubectl("exec", pod, "--", "touch", _HOLD)

    def let_go(self, pod: str) -> None:
        """The datanode starts, if it was held back."""
        wait_until(partial(self._is_released, pod), f"{pod} is let go", explain=self.explain)

    @contextmanager
    def stopped(self, datanode: int) -> Iterator[None]:
        """Stops a datanode's process with SIGSTOP; at the end it goes on."""
        self._signal(datanode, "STOP")
        try:
            yield
        finally:
            self._signal(datanode, "CONT")

    def leaders(self) -> dict[int, int]:
        """The datanode that leads each region, as the routes say."""
        select = "SELECT region_id, peer_id FROM information_schema.region_peers ORDER BY region_id"
        return {int(region): int(datanode) for region, datanode in self.rows(select)}

    def regions_of(self, datanode: int) -> list[int]:
        """The regions that a datanode leads, as the routes say."""
        return [region for region, leader in self.leaders().items() if leader == datanode]

    def open_regions(self, datanode: int) -> list[int]:
        """The regions that a datanode had open at its last report."""
        (histories,) = self._ask(("http://metasrv:4000/admin/heartbeat", {}))
        (last,) = (history[-1] for history in histories if history[-1]["id"] == datanode)
        return [int(region["id"]) for region in last["region_stats"]]

    def restarts(self, pod: str) -> int:
        """How often the pod's container was started again."""
        return count_restarts(self._pod(pod))

    def log(self, pod: str) -> str:
        """The log of a pod since its container's last start."""
        return self._kubectl("logs", pod)

    def explain(self) -> str:
        """Its pods and the ends of their logs, for people."""
        logs = self._kubectl("logs", "-l", "app.kubernetes.io/name=refdb", "--prefix", "--tail=15", "--ignore-errors")
        return f"{self._kubectl('get', 'pods', '-o', 'wide')}\n{logs}"

    def _wait_killed(self, pod: str, restarts: int) -> None:
        wait_until(lambda: self.restarts(pod) > restarts, f"{pod} died", explain=self.explain)
        (container,) = containers(self._pod(pod))
        # Sometimes it does not say: kubelet removes all but the last of a container's dead ones each minute, and takes
        # the new one for dead as long as it was made and does not run yet.
        ended = container["lastState"].get("terminated")
        if ended is not None and ended["exitCode"] != _SIGKILLED:
            raise AssertionError(f"{pod} ended with {ended['exitCode']}, not by SIGKILL")

    def _signal(self, datanode: int, name: str) -> None:
        signal_in_pod(self.namespace, f"datanode-{datanode}", "refdb", signal=name)

    def _manifests(self, part: str) -> str:
        text = (REFDB / f"deploy/{part}.yaml").read_text()
        text = text.replace("@REGION_FAILOVER@", str(self.region_failover).lower())
        return text.replace("@ETCD@", self.images.etcd).replace("@REFDB@", self.images.refdb)

    def _placed(self, manifest: Object) -> Object:
        return {**manifest, "metadata": {**manifest["metadata"], "namespace": self.namespace}}

    def _is_released(self, pod: str) -> bool:
        return "released" in self._kubectl("exec", pod, "--", "sh", "-c", f"rm -f {_HOLD} && echo released")

    def _is_ready(self, pod: str) -> bool:
        return is_ready(self._pod(pod))

    def _pod(self, pod: str) -> dict[str, Any]:
        return get(self.namespace, "pods", pod)

    def _ask(self, *requests: tuple[str, dict[str, str]]) -> list[Any]:
        """HTTP from within the cluster: pods cannot be reached from the host."""
        return [self._shell.ask(url, form) for url, form in requests]

    @cached_property
    def _shell(self) -> Shell:
        return Shell(self.namespace, "deployment/frontend", ("python", "-c", ASK))

    def _kubectl(self, *words: str, stdin: str = "") -> str:
        return kubectl("-n", self.namespace, *words, stdin=stdin)
