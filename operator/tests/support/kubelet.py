"""The controllers of StatefulSets and budgets, and the kubelet, as far as nodes of a managed Kafka need them.

Pods are real processes: what the operator made in the API server is run: the entrypoint of the ConfigMap, with its
files, by `sh`. Host names lead to loopback, each with a port of its own; the paths of the pod lead into a folder of the
node, and its volume into one of its PersistentVolumeClaim. Nothing here formats, nor does it know what a token is.
"""

from __future__ import annotations

import base64
import shutil
import signal
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seawall.domain.managed_kafka.names import IN_SYNC_GATE, KAFKA_LABEL, NODE_LABEL
from seawall_e2e.loopback.java import SMALL_AND_QUICK, Java, kafka_jars
from seawall_e2e.loopback.processes import Process, free_ports
from tests.support.kube import KubeClient, Object

CLIENTS = 9092
STOP_TIMEOUT = 60
OLDER_KAFKA = "4.2.0"
"""What an upgrade begins with."""


def _libs_of(image: str) -> Path:
    """The jars that an image has, by its tag; those of all beds for what is no version of Kafka."""
    version = image.rpartition(":")[2]
    return kafka_jars(version if version == OLDER_KAFKA else None)[0].parent


@dataclass
class NodePod:
    """A pod and its processes."""

    name: str
    uid: str
    volume: str | None = None
    formats: Process | None = None
    runs: Process | None = None
    said: str = ""
    spec: Object = field(default_factory=dict)
    is_ending: bool = False
    began: str = ""
    starts: int = 0
    status: Object = field(default_factory=dict)


@dataclass
class Kubelet:
    """Runs what is in a namespace; `step` does all that is to be done now.

    Attributes:
        folder: where volumes and the rest are.
        pods: by node.
        held: nodes whose pods are not made anew, as on a machine that is cordoned.
    """

    client: KubeClient
    namespace: str
    cluster: str
    folder: Path
    pods: dict[int, NodePod] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)
    ports: dict[str, int] = field(default_factory=dict)
    _gates: dict[str, Object | None] = field(default_factory=dict)

    def step(self) -> None:
        """Ends pods that were evicted, makes those that are missing, runs them, and tells how they and budgets are."""
        query = f"labelSelector={KAFKA_LABEL}={self.cluster}"
        found = self.client.request("GET", f"{self._pods()}?{query}")["items"]
        for node in self._terminating(found):
            self._end(node)
        self._gates = {each["metadata"]["uid"]: _gate(each) for each in found}
        sets = self.client.request("GET", f"/apis/apps/v1/namespaces/{self.namespace}/statefulsets?{query}")["items"]
        for each in sets:
            node = int(each["metadata"]["labels"][NODE_LABEL])
            if each["spec"]["replicas"] == 0:
                self._ends_for_good(node)
                continue
            if node not in self.pods and node not in self.held:
                self.pods[node] = self._make(each)
            if node in self.pods:
                self._run(node, self.pods[node])
        self._tell_budgets()

    def _ends_for_good(self, node: int) -> None:
        """As the StatefulSet controller deletes a pod that is too many; the next step ends it."""
        pod = self.pods.get(node)
        if pod is not None and not pod.is_ending:
            self.client.request("DELETE", self._pods(pod.name), {"gracePeriodSeconds": STOP_TIMEOUT})

    def _terminating(self, found: list[Object]) -> list[int]:
        ending = {each["metadata"]["uid"] for each in found if "deletionTimestamp" in each["metadata"]}
        return [node for node, pod in self.pods.items() if pod.uid in ending]

    def _end(self, node: int) -> None:
        """SIGTERM once; the pod is gone when its process is."""
        pod = self.pods[node]
        running = [each for each in (pod.formats, pod.runs) if each is not None and each.is_running()]
        for process in running:
            if not pod.is_ending:
                process.signal(signal.SIGTERM)
        pod.is_ending = True
        if not running:
            self.pods.pop(node)
            self.client.request("DELETE", self._pods(pod.name), {"gracePeriodSeconds": 0})

    def _tell_budgets(self) -> None:
        """As the disruption controller counts: pods that are Ready and stay."""
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"
        for budget in self.client.request("GET", path)["items"]:
            labels = budget["spec"]["selector"]["matchLabels"]
            chosen = ",".join(f"{label}={value}" for label, value in labels.items())
            pods = self.client.request("GET", f"{self._pods()}?labelSelector={chosen}")["items"]
            healthy, wanted = sum(map(_is_healthy, pods)), int(budget["spec"]["minAvailable"])
            status = {
                "observedGeneration": budget["metadata"]["generation"],
                "currentHealthy": healthy,
                "desiredHealthy": wanted,
                "expectedPods": len(pods),
                "disruptionsAllowed": max(0, healthy - wanted),
            }
            if any(budget.get("status", {}).get(name) != value for name, value in status.items()):
                name = budget["metadata"]["name"]
                self.client.request("PUT", f"{path}/{name}/status", {**budget, "status": status})

    def volume_of(self, node: int) -> Path:
        """The folder that is the volume of a node now."""
        claim = self.client.request("GET", self._claims(f"data-{self.cluster}-{node}"))
        return self.folder / "volumes" / str(claim["metadata"]["uid"])

    def stop(self, node: int, *, hold: bool = True) -> None:
        """The pod is deleted: its process ends by SIGTERM."""
        if hold:
            self.held.add(node)
        pod = self.pods.pop(node)
        for process in (pod.formats, pod.runs):
            if process is not None and process.is_running():
                process.signal(signal.SIGTERM)
                process.wait_ended(STOP_TIMEOUT)
        self.client.request("DELETE", self._pods(pod.name), {"gracePeriodSeconds": 0})

    def start(self, node: int) -> None:
        """Its pod may be made anew."""
        self.held.discard(node)

    def close(self) -> None:
        """Ends all processes, and removes all volumes."""
        for pod in self.pods.values():
            for process in (pod.formats, pod.runs):
                if process is not None:
                    process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def config_of(self, node: int) -> Path:
        """Where the files of a node are that its pod has at /etc/seawall/config."""
        return self._folder(node) / "config"

    def local(self, server: str) -> str:
        """Where a host name and port of a node lead on loopback."""
        if server not in self.ports:
            (self.ports[server],) = free_ports(1)
        return f"127.0.0.1:{self.ports[server]}"

    def log(self, node: int) -> str:
        """The end of what a node logged."""
        pod = self.pods[node]
        process = pod.runs or pod.formats
        return "" if process is None else process.tail()

    def _make(self, statefulset: Object) -> NodePod:
        template = statefulset["spec"]["template"]
        name = f"{statefulset['metadata']['name']}-0"
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **template["metadata"]}}
        spec = {**template["spec"], "nodeName": "loopback"}
        made = self.client.create(self._pods(), {**body, "spec": spec})
        return NodePod(name, made["metadata"]["uid"], spec=template["spec"])

    def _run(self, node: int, pod: NodePod) -> None:
        """As it was made, whatever its StatefulSet says by now."""
        if pod.is_ending:
            return
        spec = pod.spec
        claim = self.client.find(self._claims(f"data-{self.cluster}-{node}"))
        if pod.volume is None and claim is not None:
            pod.volume = claim["metadata"]["uid"]
        if pod.volume is None:
            self._tell(pod, _waiting("Pending", f'persistentvolumeclaim "data-{self.cluster}-{node}" not found'))
            return
        if missing := self._missing_secrets(spec):
            self._tell(pod, _waiting("Pending", f"secret {missing[0]} not found"))
            return
        if pod.runs is None and (pod.formats is None or not pod.formats.is_running()):
            self._next(node, pod, spec)
        elif pod.runs is not None and not pod.runs.is_running():
            self._start(node, pod, spec, "run")
        self._tell(pod, self._status(node, pod, spec))

    def _next(self, node: int, pod: NodePod, spec: Object) -> None:
        """The init container once more, until it ends well; then Kafka."""
        if pod.formats is not None and pod.formats.exit_code == 0:
            pod.said = ""
            self._start(node, pod, spec, "run")
            return
        if pod.formats is not None:
            pod.said = (self._folder(node) / "said").read_text().strip()
        self._start(node, pod, spec, "format")

    def _start(self, node: int, pod: NodePod, spec: Object, verb: str) -> None:
        folder, container = self._mount(node, pod, spec), spec["containers" if verb == "run" else "initContainers"][0]
        environment = {each["name"]: each.get("value", "") for each in container["env"]}
        where = {
            "KAFKA_LIBS": str(_libs_of(container["image"])),
            "SEAWALL_CONFIG": str(folder / "config"),
            "SEAWALL_TOKENS": str(folder / "format"),
            "SEAWALL_VOLUME": str(self.folder / "volumes" / (pod.volume or "")),
            "SEAWALL_TERMINATION_LOG": str(folder / "said"),
            "TMPDIR": str(folder / f"tmp-{pod.uid}"),
            "JDK_JAVA_OPTIONS": " ".join(self._java_options()),
        }
        command: list[str | Path] = ["sh", folder / "config" / "entrypoint.sh", verb]
        process = Process(f"{verb}-{node}", command, folder, {**environment, **where})
        if verb == "run":
            pod.starts += 1
            pod.runs, pod.began = process, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        else:
            pod.formats = process
        process.start()

    def _java_options(self) -> list[str]:
        archive = Java(self.folder).archive_path()
        return [*SMALL_AND_QUICK, *([f"-XX:SharedArchiveFile={archive}"] if archive.exists() else [])]

    def _mount(self, node: int, pod: NodePod, spec: Object) -> Path:
        """Files of ConfigMaps, as they are now, with paths and host names of this machine."""
        folder = self._folder(node)
        (self.folder / "volumes" / (pod.volume or "")).mkdir(parents=True, exist_ok=True)
        (folder / f"tmp-{pod.uid}").mkdir(exist_ok=True)
        (folder / "said").write_text("")
        for volume in spec["volumes"]:
            if "configMap" in volume:
                self._mount_config_map(node, pod, folder / volume["name"], volume["configMap"]["name"])
            if "secret" in volume:
                self._mount_secret(folder / volume["name"], volume["secret"]["secretName"])
        return folder

    def _missing_secrets(self, spec: Object) -> list[str]:
        """A pod begins no container before all of its volumes are there."""
        names = [volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume]
        return [name for name in names if self.client.find(self._secrets(name)) is None]

    def _mount_secret(self, folder: Path, name: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for key, text in self.client.request("GET", self._secrets(name))["data"].items():
            (folder / key).write_bytes(base64.b64decode(text))

    def _secrets(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{name}"

    def _mount_config_map(self, node: int, pod: NodePod, folder: Path, name: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        found = self.client.find(f"/api/v1/namespaces/{self.namespace}/configmaps/{name}") or {}
        for key, text in (found.get("data") or {}).items():
            (folder / key).write_text(self._translated(node, pod, text))

    def _translated(self, node: int, pod: NodePod, text: str) -> str:
        for other, port in self._addresses():
            host = f"{self.cluster}-{other}.{self.namespace}.svc"
            text = text.replace(f"{host}:{port}", self.local(f"{host}:{port}"))
        for port in (9090, 9091, CLIENTS):
            own = f"{self.cluster}-{node}.{self.namespace}.svc:{port}"
            text = text.replace(f"://:{port}", f"://{self.local(own)}")
        text = text.replace("/var/lib/kafka", str(self.folder / "volumes" / (pod.volume or "")))
        text = text.replace("/etc/seawall/tls", str(self._folder(node) / "tls"))
        return text.replace("/etc/seawall/config", str(self._folder(node) / "config"))

    def _addresses(self) -> list[tuple[int, int]]:
        nodes = [*range(10), *range(100, 110)]
        return [(node, port) for node in nodes for port in (9090, 9091, CLIENTS)]

    def _status(self, node: int, pod: NodePod, spec: Object) -> Object:
        is_running = pod.runs is not None and pod.runs.is_running()
        port = spec["containers"][0]["readinessProbe"]["tcpSocket"]["port"]
        number = next(each["containerPort"] for each in spec["containers"][0]["ports"] if each["name"] == port)
        own = f"{self.cluster}-{node}.{self.namespace}.svc:{number}"
        is_ready = is_running and _is_open(self.local(own))
        began = pod.began if is_running else ""
        found = _pod_status(said=pod.said, is_formatted=pod.runs is not None, began=began, is_ready=is_ready)
        found["containerStatuses"][0]["containerID"] = f"test://{pod.uid}/{pod.starts}" if is_running else ""
        return _with_gate(found, spec, self._gates.get(pod.uid))

    def _tell(self, pod: NodePod, status: Object) -> None:
        if status == pod.status:
            return
        found = self.client.request("GET", self._pods(pod.name))
        self.client.request("PUT", f"{self._pods(pod.name)}/status", {**found, "status": status})
        pod.status = status

    def _folder(self, node: int) -> Path:
        made = self.folder / f"node-{node}"
        made.mkdir(parents=True, exist_ok=True)
        return made

    def _pods(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}".rstrip("/")

    def _claims(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims/{name}"


def _is_open(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1):
            return True
    except OSError:
        return False


def _is_healthy(pod: Object) -> bool:
    conditions = {each["type"]: each["status"] for each in pod.get("status", {}).get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def _waiting(reason: str, message: str) -> Object:
    return {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": message}]} | (
        {"reason": reason}
    )


def _gate(pod: Object) -> Object | None:
    """What somebody else says of a pod: the condition of its readiness gate."""
    conditions = pod.get("status", {}).get("conditions", ())
    return next((each for each in conditions if each["type"] == IN_SYNC_GATE), None)


def _with_gate(status: Object, spec: Object, gate: Object | None) -> Object:
    """A pod is Ready when its containers are, and its gate is open; the condition of the gate stays as it is."""
    containers = next(each for each in status["conditions"] if each["type"] == "ContainersReady")
    is_open = not spec.get("readinessGates") or (gate is not None and gate["status"] == "True")
    ready = {"type": "Ready", "status": containers["status"] if is_open else "False"}
    others = [] if gate is None else [gate]
    return {**status, "conditions": [containers, ready, *others]}


def _pod_status(*, said: str, is_formatted: bool, began: str, is_ready: bool) -> Object:
    common: dict[str, Any] = {"image": "", "imageID": "", "restartCount": 0}
    init: Object = {"terminated": {"exitCode": 0}} if is_formatted else {"running": {}}
    last: Object = {}
    if said:
        init = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
        last = {"terminated": {"exitCode": 3, "message": said}}
    runs: Object = {"running": {"startedAt": began}} if began else {"waiting": {"reason": "PodInitializing"}}
    return {
        "phase": "Running" if began else "Pending",
        "conditions": [{"type": "ContainersReady", "status": "True" if is_ready else "False"}],
        "initContainerStatuses": [
            {**common, "name": "format", "ready": is_formatted, "state": init, "lastState": last}
        ],
        "containerStatuses": [{**common, "name": "kafka", "ready": is_ready, "state": runs}],
    }


def empty(volume: Path) -> None:
    """Somebody puts an empty disk in the place of a volume."""
    for each in volume.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        else:
            each.unlink()
