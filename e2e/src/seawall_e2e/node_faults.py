"""Faults by the node under the pods: processes that are killed or frozen, networks that are cut or slow, full disks.

Each lasts as long as its `with`, and is made good by whoever restarts things anyway: the kubelet, or the node's keeper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from seawall_e2e.cluster import PLATFORM, signal_in_pod
from seawall_e2e.commands import CommandFailed, Object, asked, kubectl, run
from seawall_e2e.faults import FaultKind
from seawall_e2e.objects import count_restarts, find, get, is_ready
from seawall_e2e.waiting import wait_until

RATE = "512kbit"
"""Of a slow network: replicas fall behind, and clients' requests begin to time out."""
WRITABLE = 4096
"""Bytes to which a file may still grow on a full disk."""
_KILL_DAEMON = """cd /proc && killed=1; for each in [0-9]*; do
    [ "$(cat "$each/comm" 2>/dev/null)" = "$0" ] || continue
    grep -q kubepods "$each/cgroup" || { kill -9 "$each" && killed=0; }
done; exit $killed"""
_LIMIT_FILES = """cd /proc && found=1; for each in $(grep -ls "$0" [0-9]*/cgroup); do
    pid=${each%/cgroup}; [ "$(cat "$pid/comm" 2>/dev/null)" = "$1" ] || continue
    ids=$(stat -c '--reuid=%u --regid=%g' "$pid")
    setpriv $ids --clear-groups prlimit --pid "$pid" --fsize="$2": && found=0
done; exit $found"""
"""As who runs it, of whom nobody else may change limits without CAP_SYS_RESOURCE, which not every machine gives."""
_FREE_FILES = """cd /proc && left=0; for each in $(grep -ls "$0" [0-9]*/cgroup); do
    pid=${each%/cgroup}; grep -q "^Max file size  *$1 " "$pid/limits" 2>/dev/null || continue
    ids=$(stat -c '--reuid=%u --regid=%g' "$pid")
    setpriv $ids --clear-groups prlimit --pid "$pid" --fsize=unlimited: || left=1
done; exit $left"""
_SLOW = """tc qdisc add dev "$0" root tbf rate "$1" burst 16kb latency 800ms"""
_FREE_NETWORK = """tc qdisc show dev "$0" 2>/dev/null | grep -q tbf || exit 0; tc qdisc del dev "$0" root"""
_CUT = """printf '%s\\n' "$0" | nft -f -"""
_JOIN = 'nft "add table ip $0; delete table ip $0"'
_TABLE = "nemesis"
_OF_PODS = "veth"
"""How interfaces of pods begin: whoever has no pod any more is reached by the node's own, which all share."""


def on_node(script: str, *words: str) -> str:
    """Runs a script on the node, with words from $0 on."""
    return run(str(PLATFORM / "cluster"), "shell", "sh", "-c", script, *words)


def undo(what: str, script: str, *words: str) -> None:
    """Runs a script on the node until it ends well: what is not made good would be a fault of all that comes."""
    wait_until(lambda: asked(lambda: (on_node(script, *words),)), what, every=0.5)


@dataclass(frozen=True, slots=True)
class Target:
    """A program in a pod."""

    namespace: str
    pod: str
    program: str
    """As the kernel names the process."""

    def find(self) -> Object | None:
        """The pod."""
        return find(self.namespace, "pods", self.pod)

    def address(self) -> str:
        """Its address, as long as it lives. Raises CommandFailed: it has none now."""
        found: str | None = get(self.namespace, "pods", self.pod).get("status", {}).get("podIP")
        if found is None:
            raise CommandFailed(("get", "pods", self.pod), "found no address", "")
        return found

    def signal(self, name: str) -> None:
        """Sends it a signal."""
        signal_in_pod(self.namespace, self.pod, self.program, signal=name)

    def __str__(self) -> str:
        return self.pod


@dataclass(frozen=True, slots=True)
class OfTarget:
    """What is done to one program."""

    kind: FaultKind
    target: Target

    def __str__(self) -> str:
        return str(self.target)


@dataclass(frozen=True, slots=True)
class Killed(OfTarget):
    """SIGKILL of a program, which the kubelet starts again."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Kills it; at the end its pod, or one that took its place under the same name, is ready."""
        before = get(self.target.namespace, "pods", self.target.pod)
        self.target.signal("KILL")
        yield
        wait_until(lambda: self._is_back(before), f"{self} is ready again", every=0.5)

    def _is_back(self, before: Object) -> bool:
        pod = asked(self.target.find)
        if pod is None:
            return False
        is_new = pod["metadata"]["uid"] != before["metadata"]["uid"]
        return is_ready(pod) and (is_new or count_restarts(pod) > count_restarts(before))


@dataclass(frozen=True, slots=True)
class Ended(OfTarget):
    """SIGKILL of a program that nobody starts again in its pod, such as a driver's."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Kills it."""
        self.target.signal("KILL")
        yield


@dataclass(frozen=True, slots=True)
class Frozen(OfTarget):
    """SIGSTOP of a program, and SIGCONT: it goes on and does not know for how long it was away."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Stops it; at the end it goes on, unless it was given up and replaced meanwhile."""
        uid = get(self.target.namespace, "pods", self.target.pod)["metadata"]["uid"]
        try:
            self.target.signal("STOP")  # who says that it failed may have sent it
            yield
        finally:
            self._go_on(uid)

    def _go_on(self, uid: str) -> None:
        def is_done() -> bool:
            pod = asked(lambda: self.target.find() or {"metadata": {"uid": None}})
            if pod is None:
                return False
            if pod["metadata"]["uid"] == uid:
                self.target.signal("CONT")
            return True

        wait_until(lambda: asked(is_done), f"{self} goes on", every=0.5)  # none there: its container is made anew


@dataclass(frozen=True, slots=True)
class DaemonKilled:
    """SIGKILL of a daemon of the node, such as its API server or etcd; its keeper starts it again after a second."""

    kind: FaultKind
    name: str

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Kills it; at the end the API server is ready."""
        on_node(_KILL_DAEMON, self.name)
        yield
        wait_until(lambda: asked(lambda: kubectl("get", "--raw", "/readyz") == "ok"), "the API server is ready")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Partitioned:
    """No packet passes between two pods, in either direction."""

    one: Target
    other: Target
    kind = FaultKind.PARTITIONED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Cuts it; at the end all packets pass."""
        one, other = self.one.address(), self.other.address()
        rules = "\n".join(
            (
                f"add table ip {_TABLE}",
                f"add chain ip {_TABLE} forward {{ type filter hook forward priority -300 ; }}",
                f"add rule ip {_TABLE} forward ip saddr {one} ip daddr {other} drop",
                f"add rule ip {_TABLE} forward ip saddr {other} ip daddr {one} drop",
            )
        )
        try:
            on_node(_CUT, rules)
            yield
        finally:
            undo(f"{self} are joined again", _JOIN, _TABLE)

    def __str__(self) -> str:
        return f"{self.one} and {self.other}"


@dataclass(frozen=True, slots=True)
class Slowed:
    """All that is sent to a pod comes at a small rate, and so late."""

    target: Target
    kind = FaultKind.SLOWED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Slows it; at the end it is as it was, or the pod's interface is gone with the pod."""
        address = self.target.address()
        device = on_node('ip -o route get "$0"', address).partition(" dev ")[2].partition(" ")[0]
        if not device.startswith(_OF_PODS):
            raise CommandFailed(("ip", "route", "get", address), f"found {device!r} and no pod", "")
        try:
            on_node(_SLOW, device, RATE)
            yield
        finally:
            undo(f"{self.target} is as it was", _FREE_NETWORK, device)

    def __str__(self) -> str:
        return f"{self.target} at {RATE}"


@dataclass(frozen=True, slots=True)
class DiskFull:
    """No file of a program can grow (its limit of file size, whose error is another than that of a disk)."""

    target: Target
    kind = FaultKind.DISK_FULL

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Forbids it; at the end it may, or has been started anew without a limit."""
        uid = get(self.target.namespace, "pods", self.target.pod)["metadata"]["uid"].replace("-", "[-_]")
        try:
            on_node(_LIMIT_FILES, f"pod{uid}", self.target.program, str(WRITABLE))
            yield
        finally:
            undo(f"{self} may write", _FREE_FILES, f"pod{uid}", str(WRITABLE))
        wait_until(self._is_ready, f"{self} is ready", every=0.5)

    def _is_ready(self) -> bool:
        pod = asked(self.target.find)
        return pod is not None and is_ready(pod)

    def __str__(self) -> str:
        return str(self.target)


def pods_of(namespace: str, labels: str, program: str) -> Sequence[Target]:
    """The programs of the pods that these labels choose, of those that run."""
    words = ("-n", namespace, "get", "pods", "-l", labels, "--field-selector=status.phase=Running", "-o", "name")
    return [Target(namespace, name.partition("/")[2], program) for name in sorted(kubectl(*words).split())]
