"""Datanodes of several StatefulSets: one at a time over all of them, each by its own partition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.domain.datanodes.actions import SetPartition
from seawall.domain.datanodes.checks import refusal
from seawall.domain.datanodes.decision import DatanodeRoll, Observed
from seawall.domain.datanodes.diagnosis import diagnose
from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.order import in_order
from seawall.domain.datanodes.requests import Cause, due_pods
from seawall.domain.datanodes.roll import decide
from seawall.domain.rollout.decision import Roll
from seawall.domain.rollout.workload import StatefulSet, Template, UpdateStrategy
from seawall.domain.rollout_reasons import Blocker, FailureReason, Reason
from tests.domain.datanodes.builders import ask, make_datanode, make_facts, make_pod, make_statefulset

GROUPS = ("a", "b")
PODS = tuple(f"db-datanode-{group}-{ordinal}" for group in GROUPS for ordinal in range(2))


def make_set(group: str, **changes: Any) -> StatefulSet:
    values: dict[str, Any] = {
        "key": Key("db", f"db-datanode-{group}"),
        "uid": f"set-{group}",
        "replicas": 2,
        "strategy": UpdateStrategy.ROLLING_UPDATE,
        "partition": 1000,
        "declared_partition": 1000,
        "controller": "GreptimeDBCluster db",
        "update_revision": "rev-2",
        **changes,
    }
    return make_statefulset(**values)


def make_groups(**changes: dict[str, Any]) -> Facts:
    """Two groups of two datanodes, of which the template changed; `a=...` changes a StatefulSet."""
    sets = tuple(make_set(group, **changes.get(group, {})) for group in GROUPS)
    pods = tuple(
        make_pod(ordinal, key=Key("db", f"db-datanode-{group}-{ordinal}"), uid=f"uid-{group}-{ordinal}")
        for group in GROUPS
        for ordinal in range(2)
    )
    datanodes = {pod.name: make_datanode(number) for number, pod in enumerate(pods)}
    return make_facts(statefulsets=sets, pods=pods, datanodes=datanodes)


def due(facts: Facts) -> dict[str, Cause]:
    return due_pods(facts.statefulsets, facts.pods, {}, on_config_change=True)


def test_all_of_them_are_due_and_the_highest_of_each_group_may_be_next() -> None:
    facts = make_groups()
    assert due(facts) == dict.fromkeys(PODS, Cause.TEMPLATE_CHANGED)
    assert [pod.name for pod in in_order(due(facts), facts)] == ["db-datanode-a-1", "db-datanode-b-1"]


def test_a_group_that_nobody_edited_is_left_alone() -> None:
    facts = make_groups(b={"update_revision": "rev-1"})
    assert due(facts) == dict.fromkeys(PODS[:2], Cause.TEMPLATE_CHANGED)


def test_a_datanode_of_another_group_that_is_down_shuts_the_gate() -> None:
    facts = make_groups()
    pods = tuple(replace(pod, ready=pod.name != "db-datanode-b-0") for pod in facts.pods)
    found = refusal(ask_for(replace(facts, pods=pods), "db-datanode-a-1"))
    assert found is not None
    assert found.reason is Blocker.ANOTHER_DOWN
    missing = replace(facts, pods=facts.pods[:3])
    assert refusal(ask_for(missing, "db-datanode-a-1")) is not None
    assert [(each.pod, each.ailment) for each in diagnose(missing)] == [("db-datanode-b-1", FailureReason.MISSING)]


def roll(**status: Any) -> DatanodeRoll:
    return Roll(status=RestartStatus(**status))


def ask_for(facts: Facts, name: str) -> Any:
    return replace(ask(facts), name=name)


def test_each_startup_probe_is_that_of_its_own_group() -> None:
    facts = make_groups(a={"template": Template(startup_seconds=60)}, b={"template": Template(startup_seconds=600)})
    status = decide(roll(), Observed(facts)).status.status
    assert [row.probe_seconds for row in status.datanodes] == [60, 60, 600, 600]


def test_a_group_whose_partition_is_open_is_reported_although_another_one_is_gated() -> None:
    facts = make_groups(a={"update_revision": "rev-1"}, b={"partition": 0, "declared_partition": 0})
    found = decide(roll(), Observed(facts))
    assert (found.verdict.reason, found.actions) == (Reason.RESTARTED_BY_OTHERS, ())


def test_a_gate_that_was_opened_from_outside_is_shut_at_once() -> None:
    facts = make_groups(a={"update_revision": "rev-1"}, b={"partition": 1})
    before = decide(roll(), Observed(facts)).status
    found = decide(before, Observed(facts))
    assert found.verdict.reason == Reason.RESTARTED_BY_OTHERS
    assert found.actions == (SetPartition(facts.statefulsets[1], 1000),)


def test_at_the_end_the_partition_of_each_group_is_put_back_one_after_the_other() -> None:
    done = {"update_revision": "rev-1", "partition": 0}
    facts = make_groups(a=done, b=done)
    before = decide(roll(stage=RollStage.WAITING, drives_partition=True), Observed(facts)).status
    assert decide(before, Observed(facts)).actions == (SetPartition(facts.statefulsets[0], 1000),)
    facts = make_groups(a={**done, "partition": 1000}, b=done)
    assert decide(before, Observed(facts)).actions == (SetPartition(facts.statefulsets[1], 1000),)
    facts = make_groups(a={**done, "partition": 1000}, b={**done, "partition": 1000})
    assert not decide(before, Observed(facts)).status.status.drives_partition


@pytest.mark.parametrize("partition", [0, 1])
def test_below_the_replicas_nothing_is_gated(partition: int) -> None:
    assert not make_set("a", declared_partition=partition).is_gated
    assert make_set("a", declared_partition=2).is_gated
    assert not make_set("a", declared_partition=2, strategy=UpdateStrategy.ON_DELETE).is_gated


def test_pods_of_a_set_whose_name_is_the_beginning_of_anothers_are_told_apart() -> None:
    first, second = make_set("a"), make_set("a-b")
    pod = make_pod(0, key=Key("db", "db-datanode-a-b-0"))
    assert (first.has(pod), second.has(pod)) == (False, True)
