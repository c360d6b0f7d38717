"""The Argo CD health check against example statuses, in Lua 5.1 with the libraries that Argo CD leaves to a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa import lua51

from seawall.api.v1alpha1.kinds import KINDS

GITOPS = Path(__file__).parents[3] / "docs" / "gitops"
SCRIPT = (GITOPS / "health.lua").read_text()
WITHHELD = ("string", "math", "io", "debug", "coroutine", "python", "load", "loadstring", "dofile", "loadfile")


def health(obj: dict[str, Any]) -> tuple[str, str]:
    """Runs the script as Argo CD does: the object is the global `obj`, a table with status and message comes back."""
    lua = lua51.LuaRuntime(register_eval=False, register_builtins=False)
    lua.execute("getmetatable('').__index = nil")
    for library in WITHHELD:
        lua.globals()[library] = None
    lua.globals()["obj"] = lua.table_from(obj, recursive=True)
    answer = lua.execute(SCRIPT)
    assert set(answer.keys()) == {"status", "message"}
    return answer["status"], answer["message"]


def wal_cluster(
    status: dict[str, Any] | None, *, generation: int = 2, metadata: dict[str, Any] | None = None
) -> dict[str, Any]:
    obj: dict[str, Any] = {
        "apiVersion": "seawall.dev/v1alpha1",
        "kind": "WALCluster",
        "metadata": {"name": "wal", "namespace": "db", "generation": generation, **(metadata or {})},
        "spec": {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}},
    }
    return obj if status is None else {**obj, "status": status}


def conditions(held: str | None, reason: str, message: str, *, observed: int = 2) -> dict[str, Any]:
    """A status as the operator writes it: all three kstatus conditions, at most one of them true, and its own."""
    shared = [
        {"type": kind, "status": str(kind == held), "reason": reason, "message": message}
        for kind in ("Ready", "Reconciling", "Stalled")
    ]
    own = {"type": "TopicsReady", "status": "False", "reason": reason, "message": "of no interest"}
    return {"observedGeneration": observed, "conditions": [own, *shared]}


def only(condition: str) -> dict[str, Any]:
    """A status with this condition alone, as another or a future writer might leave it."""
    return {"observedGeneration": 2, "conditions": [yaml.safe_load(condition)]}


UNSEEN = "Waiting for the operator to look at this generation"
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["seawall.dev/topics"]}
TAKEN = "the older WALCluster db/old owns the prefix"


@pytest.mark.parametrize(
    ("obj", "status", "message"),
    [
        pytest.param(wal_cluster(None), "Progressing", UNSEEN, id="no status"),
        pytest.param(wal_cluster({}), "Progressing", UNSEEN, id="empty status"),
        pytest.param(wal_cluster({"observedGeneration": 2}), "Progressing", UNSEEN, id="no conditions"),
        pytest.param(
            wal_cluster(conditions("Ready", "Ready", "64 topics are ready", observed=1)),
            "Progressing",
            UNSEEN,
            id="an edit that was not looked at",
        ),
        pytest.param(
            wal_cluster({"conditions": [{"type": "Ready", "status": "True", "message": "ready"}]}),
            "Progressing",
            UNSEEN,
            id="no observed generation",
        ),
        pytest.param(
            wal_cluster(conditions("Ready", "Ready", "64 topics are ready")),
            "Healthy",
            "64 topics are ready",
            id="ready",
        ),
        pytest.param(
            wal_cluster(conditions("Reconciling", "CreatingTopics", "3 of 64 topics are missing")),
            "Progressing",
            "3 of 64 topics are missing",
            id="creating",
        ),
        pytest.param(
            wal_cluster(conditions("Reconciling", "KafkaUnreachable", "no broker answered")),
            "Progressing",
            "no broker answered",
            id="a silent Kafka mends itself",
        ),
        pytest.param(wal_cluster(conditions("Stalled", "PrefixClaimed", TAKEN)), "Degraded", TAKEN, id="stalled"),
        pytest.param(
            wal_cluster(conditions("Stalled", "Paused", "stalled wins")), "Degraded", "stalled wins", id="stalled first"
        ),
        pytest.param(
            wal_cluster(conditions(None, "Paused", "seawall.dev/paused is set; 3 of 64 topics are missing")),
            "Suspended",
            "seawall.dev/paused is set; 3 of 64 topics are missing",
            id="paused",
        ),
        pytest.param(
            wal_cluster(conditions(None, "SomethingNew", "what a newer operator says")),
            "Progressing",
            "what a newer operator says",
            id="not ready for a reason of a newer operator",
        ),
        pytest.param(
            wal_cluster(conditions("Ready", "Ready", "64 topics are ready"), metadata=DELETED),
            "Progressing",
            "Being deleted",
            id="deleted while ready",
        ),
        pytest.param(
            wal_cluster(conditions("Stalled", "ChangeRefused", "no"), metadata=DELETED),
            "Progressing",
            "Being deleted",
            id="deleted while stalled",
        ),
        pytest.param(
            wal_cluster(only("{type: TopicsReady, status: 'True', message: fine}")),
            "Progressing",
            "Waiting for the condition Ready",
            id="no condition Ready",
        ),
        pytest.param(
            wal_cluster(only("{type: Ready, status: Unknown, reason: NotAsked, message: not asked yet}")),
            "Progressing",
            "not asked yet",
            id="ready unknown",
        ),
    ],
)
def test_health_follows_the_conditions(obj: dict[str, Any], status: str, message: str) -> None:
    assert health(obj) == (status, message)


def test_the_patch_of_argocd_cm_carries_the_tested_script_for_every_kind() -> None:
    patch = yaml.safe_load((GITOPS / "argocd-cm.patch.yaml").read_text())
    keys = [f"resource.customizations.health.seawall.dev_{kind.kind}" for kind in KINDS]
    assert patch == {"data": dict.fromkeys(keys, SCRIPT)}
