"""The entrypoint of a node, run by a POSIX shell: what it refuses to touch, and how it says so."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from subprocess import run as run_process

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.domain.managed_kafka.found import VOLUME_EMPTY, FoundPod
from seawall.domain.managed_kafka.node import nodes_of
from seawall.domain.managed_kafka.properties import ENTRYPOINT, VOLUME, config_files
from seawall_e2e.loopback.java import kafka_jars
from tests.worlds.managed_world import SPEC

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
NODE = 0
SHELL = shutil.which("dash") or "sh"


@dataclass
class Pod:
    """Folders of a pod, and its entrypoint."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("config", "format", "volume", "tmp", "nothing"):
            (self.folder / name).mkdir()
        (self.folder / "entrypoint.sh").write_text(ENTRYPOINT)

    @property
    def data(self) -> Path:
        return self.folder / "volume" / "data"

    def give(self, token: str, *, end: str = "\n") -> None:
        (self.folder / "format" / f"node-{NODE}").write_text(f"{token}{end}")

    def asks(self, question: str) -> None:
        (self.folder / "tmp" / "asked").write_text(f"{question}\n")

    def has(self, node: int, cluster_id: str) -> None:
        self.data.mkdir()
        (self.data / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id={cluster_id}\n")

    def run(self, verb: str = "format") -> CompletedProcess[str]:
        where = {
            "KAFKA_LIBS": str(self.folder / "nothing"),
            "SEAWALL_CONFIG": str(self.folder / "config"),
            "SEAWALL_TOKENS": str(self.folder / "format"),
            "SEAWALL_VOLUME": str(self.folder / "volume"),
            "SEAWALL_TERMINATION_LOG": str(self.folder / "said"),
            "TMPDIR": str(self.folder / "tmp"),
        }
        who = {"NODE_ID": str(NODE), "CLUSTER_ID": CLUSTER_ID}
        how = {"HEAP_OPTIONS": "-Xmx64m", "JAVA_OPTIONS": "", "PATH": os.environ["PATH"]}
        command = [SHELL, str(self.folder / "entrypoint.sh"), verb]
        environment = {**who, **how, **where, **self.environment}
        return run_process(command, env=environment, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - ours

    def said(self) -> str:
        return (self.folder / "said").read_text().strip()


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


@pytest.mark.parametrize("verb", ["format", "run"])
def test_nothing_is_formatted_because_it_is_empty(verb: str, pod: Pod) -> None:
    assert pod.run(verb).returncode == 3
    assert pod.said().startswith(VOLUME_EMPTY)
    assert list((pod.folder / "volume").iterdir()) == []


@pytest.mark.parametrize("token", ["join q-2", "", "none", "initial 0@wal-0:9090:AAA q-2"])
def test_a_token_for_another_question_or_of_nothing_lets_nobody_format(token: str, pod: Pod) -> None:
    pod.asks("q-1")
    pod.give(token)
    assert pod.run().returncode == 3
    assert pod.said().startswith(f"{VOLUME_EMPTY} q-1: ")


def test_it_asks_the_same_until_it_was_answered(pod: Pod) -> None:
    assert [pod.run().returncode, pod.said(), pod.run().returncode, pod.said()] == [3, pod.said(), 3, pod.said()]
    question = FoundPod(NODE, "", "", said=pod.said()).question
    assert question is not None
    assert len(question) == 36
    pod.give(f"join {question[:-1]}")
    assert pod.run().returncode == 3
    assert FoundPod(NODE, "", "", said=pod.said()).question == question


def test_a_token_of_another_node_lets_nobody_format(pod: Pod) -> None:
    (pod.folder / "format" / "node-1").write_text("join\n")
    assert pod.run().returncode == 3


@pytest.mark.parametrize(("node", "cluster_id"), [(1, CLUSTER_ID), (NODE, "another")])
@pytest.mark.parametrize("verb", ["format", "run"])
def test_a_volume_of_another_node_or_kafka_is_not_touched(verb: str, node: int, cluster_id: str, pod: Pod) -> None:
    pod.has(node, cluster_id)
    pod.give("join")
    assert pod.run(verb).returncode == 3
    assert pod.said() == f"ForeignVolume: it is of node {node} of Kafka {cluster_id}"


@pytest.mark.parametrize("name", ["photos", ".hidden", "data"])
def test_a_volume_with_something_else_is_not_touched(name: str, pod: Pod) -> None:
    (pod.folder / "volume" / name).mkdir()
    (pod.folder / "volume" / "lost+found").mkdir()
    pod.give("join")
    assert pod.run().returncode == 3
    assert pod.said() == f"NotEmpty: it has {name}, and no data of Kafka"
    assert (pod.folder / "volume" / name).is_dir()


def test_its_own_volume_is_left_as_it_is(pod: Pod) -> None:
    pod.has(NODE, CLUSTER_ID)
    pod.give("join")
    before = (pod.data / "meta.properties").read_text()
    assert pod.run().returncode == 0
    assert (pod.data / "meta.properties").read_text() == before


@pytest.mark.parametrize("verb", ["format", "run"])
def test_a_pod_formats_once_although_its_token_is_still_there(verb: str, pod: Pod) -> None:
    (pod.folder / "tmp" / "formatted").touch()
    pod.give("join")
    assert pod.run(verb).returncode == 3
    assert pod.said().endswith(": nothing is on it, and this pod has formatted it before")
    assert list((pod.folder / "volume").iterdir()) == []


def test_a_pod_that_was_killed_after_its_format_ends_it_without_a_token(pod: Pod) -> None:
    (pod.folder / "tmp" / "formatted").touch()
    half = pod.folder / "volume" / ".formatting"
    half.mkdir()
    (half / "meta.properties").write_text("version=1\n")
    assert pod.run().returncode == 0
    assert (pod.data / "meta.properties").read_text() == "version=1\n"
    assert not half.exists()


@pytest.mark.integration
def test_a_format_that_was_interrupted_is_begun_anew_and_a_token_needs_no_end_of_line(pod: Pod) -> None:
    managed = ManagedKafka.model_validate(SPEC["kafka"]["managed"])
    node = next(each for each in nodes_of(Key("db", "wal"), managed) if each.id == NODE)
    for name, text in config_files(node.cluster, managed, NODE, node.pool).items():
        path = str(pod.folder / "config")
        local = text.replace("/etc/seawall/config", path).replace(VOLUME, str(pod.folder / "volume"))
        (pod.folder / "config" / name).write_text(local)
    half = pod.folder / "volume" / ".formatting"
    half.mkdir()
    (half / "meta.properties").write_text("cluster.id=of a format that was killed\n")
    pod.environment["KAFKA_LIBS"] = str(kafka_jars()[0].parent)
    pod.asks("q-1")
    pod.give("join q-1", end="")
    found = pod.run()
    assert found.returncode == 0, found.stderr
    meta = (pod.data / "meta.properties").read_text()
    assert f"cluster.id={CLUSTER_ID}" in meta
    assert f"node.id={NODE}" in meta
    assert not half.exists()
    shutil.rmtree(pod.data)
    assert pod.run("run").returncode == 3
    assert pod.said().endswith(": nothing is on it, and its token answers another question")
