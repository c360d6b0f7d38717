"""A WALPurgePolicy on a real API server: it makes runs, one after another. Here runs wait, and are ended by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from seawall_e2e.loopback import ApiServer, OperatorProcess
from tests.integration.conftest import RESYNC_SECONDS
from tests.support.kube import KubeClient
from tests.support.purges import Corner, new_corner

pytestmark = pytest.mark.integration

COLUMNS = "NAME CLUSTER READY SCHEDULE INTERVAL SUSPEND ACTIVE LAST NEXT AGE"
WIDE = "NAME CLUSTER STAGE PURGED TOPICS ENTRIES DRYRUN POLICY AGE MESSAGE"


@pytest.fixture
def corner(kube: KubeClient, operator: OperatorProcess) -> Iterator[Corner]:
    """A corner of the shared operator's world."""
    made = new_corner(kube, operator)
    yield made
    made.clear()


@pytest.fixture
def own_corner(api_server: ApiServer) -> Iterator[Corner]:
    """A corner with an operator of its own, not started yet."""
    kube = KubeClient(api_server)
    kube.install_crds()
    made = new_corner(kube)
    scope = made.namespace
    operator = OperatorProcess(
        api_server.kubeconfig, namespaces=scope, pod_namespace=scope, resync_seconds=RESYNC_SECONDS
    )
    made.operators.append(operator)
    yield made
    operator.close()
    made.clear()


def test_runs_begin_one_after_another(corner: Corner) -> None:
    corner.declare(dryRun=True, safety={"keepEntries": 5})
    first = corner.wait_active()
    assert first["spec"]["dryRun"] is True
    margins = {"keepEntries": 5, "staleAfter": "1m", "openGrace": "2m", "countFollowers": True}
    assert first["spec"]["safety"] == margins
    (owner,) = first["metadata"]["ownerReferences"]
    policy = corner.policy()
    assert owner == {
        "apiVersion": "seawall.dev/v1alpha1",
        "kind": "WALPurgePolicy",
        "name": "often",
        "uid": policy["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    corner.wait_looks()
    assert len(corner.runs()) == 1, "no run begins while one is not finished"
    corner.end(first)
    second = corner.wait_active(but=first["metadata"]["name"])
    corner.wait(lambda: corner.policy()["status"].get("active") == second["metadata"]["name"], "the status follows")
    assert "lastSuccessfulTime" in corner.policy()["status"]
    corner.wait(lambda: {"Scheduled", "RunCreated", "RunCompleted"} <= set(corner.reasons()), "events tell of it")


def test_a_failed_run_is_told_and_the_next_begins(corner: Corner) -> None:
    corner.declare()
    first = corner.wait_active()
    corner.end(first, "Failed")
    corner.wait_active(but=first["metadata"]["name"])
    corner.wait(lambda: "RunFailed" in corner.reasons(), "an event tells of it")


def test_history_is_kept_short(corner: Corner) -> None:
    corner.declare(successfulRunsHistoryLimit=1)
    names: list[str] = []
    for _ in range(3):
        run = corner.wait_active(but=names[-1] if names else "")
        names.append(str(run["metadata"]["name"]))
        corner.end(run)
    corner.edit(suspend=True)
    corner.wait_for("Ready", "Suspended")
    for late in corner.active():
        corner.end(late)
    corner.wait(lambda: len(corner.runs()) == 1, "only the newest run is kept")
    assert names[0] not in {run["metadata"]["name"] for run in corner.runs()}


def test_a_suspended_policy_begins_no_run(corner: Corner) -> None:
    corner.declare(suspend=True)
    corner.wait_for("Ready", "Suspended")
    corner.declare("other")
    corner.wait_active()
    assert [run["metadata"]["ownerReferences"][0]["name"] for run in corner.runs()] == ["other"]
    corner.edit(suspend=False)
    corner.wait(lambda: len(corner.runs()) == 2, "a run begins")


@pytest.mark.parametrize(
    ("wrong", "reason", "sentence"),
    [
        ({"schedule": "0 0 30 2 *"}, "InvalidSchedule", "Bad day-of-month"),
        ({"schedule": "* * */20 * 1L"}, "ScheduleNeverFires", "never fires"),
    ],
)
def test_a_bad_schedule_is_said_and_can_be_mended(
    wrong: dict[str, str], reason: str, sentence: str, corner: Corner
) -> None:
    corner.declare(**wrong)
    assert sentence in corner.wait_for("Stalled", reason)
    corner.edit(schedule="* * * * *", timeZone="Europe/Berlin")
    assert corner.wait_for("Ready", "Scheduled") == "runs begin * * * * * (Europe/Berlin)"


def test_a_cluster_that_is_missing_is_said_and_its_arrival_is_seen(corner: Corner) -> None:
    corner.kube.delete(corner.path("walclusters", "wal"))
    corner.declare()
    assert "no WALCluster wal" in corner.wait_for("Stalled", "ClusterMissing")
    assert corner.runs() == []
    corner.make_cluster()
    corner.wait_active()


def test_kubectl_get_shows_policies_and_runs(corner: Corner) -> None:
    corner.declare("ten-minutes", schedule="*/10 * * * *", suspend=True, timeZone="Europe/Berlin")
    corner.declare()
    run = corner.wait_active()
    corner.wait_for("Ready", "Suspended", "ten-minutes")
    corner.wait(lambda: corner.policy()["status"].get("active") is not None, "the status follows")
    kubectl = corner.kube.server.kubectl
    header, often, ten = kubectl("get", "walpp", "-n", corner.namespace).splitlines()
    assert header.split() == COLUMNS.split()
    assert often.split()[:6] == ["often", "wal", "True", "1s", "false", run["metadata"]["name"]]
    assert ten.split()[:9] == ["ten-minutes", "wal", "True", "*/10", "*", "*", "*", "*", "true"]
    header, row = kubectl("get", "walp", "-n", corner.namespace, "-o", "wide").splitlines()
    assert header.split() == WIDE.split()
    assert row.split()[:4] == [run["metadata"]["name"], "wal", "false", "often"]


def test_times_that_passed_while_no_operator_ran_are_made_up_for_by_one_run(own_corner: Corner) -> None:
    corner, (operator,) = own_corner, own_corner.operators
    corner.declare()
    operator.start()
    first = corner.wait_active()
    corner.wait(lambda: corner.policy()["status"].get("active") == first["metadata"]["name"], "the status follows")
    operator.kill()
    killed = datetime.now(UTC)
    corner.end(first)
    corner.wait(lambda: datetime.now(UTC) > killed + timedelta(seconds=4), "some times pass")
    operator.start()
    second = corner.wait_active()
    corner.wait_looks()
    assert [run["metadata"]["name"] for run in corner.runs()] == [
        first["metadata"]["name"],
        second["metadata"]["name"],
    ]
