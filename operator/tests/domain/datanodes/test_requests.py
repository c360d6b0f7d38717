"""Who is due for a restart, in which order, and who may let it through a shut gate."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.order import in_order
from seawall.domain.datanodes.requests import (
    Cause,
    due_pods,
    is_kept_back,
    outdated_beyond_partition,
)
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.rollout.requests import parse_override
from seawall.domain.rollout.workload import Template, UpdateStrategy
from tests.domain.datanodes.builders import NOW, make_facts, make_pod, make_statefulset, with_datanode, with_pod
from tests.domain.two_clocks import agreed

REQUESTED = {f"datanode-{number}": f"uid-{number}" for number in range(3)}


def due(requested: dict[str, str] | None = None, *, on_config_change: bool = True, **template: Any) -> dict[str, Cause]:
    statefulset = make_statefulset(template=Template(**template))
    pods = (make_pod(0, config_hash="a"), make_pod(1, config_hash="b", uid="new"), make_pod(2, restart="now"))
    return due_pods([statefulset], pods, requested or {}, on_config_change=on_config_change)


def test_a_pods_own_annotation_asks_for_it_alone() -> None:
    assert due() == {"datanode-2": Cause.POD_REQUESTED}


def test_a_request_is_about_the_pods_that_were_there_then() -> None:
    """datanode-1 is another pod by now."""
    assert due(REQUESTED) == {"datanode-0": Cause.REQUESTED, "datanode-2": Cause.REQUESTED}


def test_pods_for_another_configuration_than_the_template_are_due_if_that_is_wanted() -> None:
    assert due(config_hash="b") == {"datanode-0": Cause.CONFIG_CHANGED, "datanode-2": Cause.CONFIG_CHANGED}
    assert due(config_hash="b", on_config_change=False) == {"datanode-2": Cause.POD_REQUESTED}


def test_a_rollout_restart_by_somebody_is_a_request() -> None:
    assert set(due(restarted_at="2026-11-22T08:00:00Z").values()) == {Cause.ROLLOUT_RESTART}


def rolling(partition: int) -> dict[str, Any]:
    return {"strategy": UpdateStrategy.ROLLING_UPDATE, "partition": partition, "update_revision": "rev-2"}


def test_pods_beyond_the_partition_are_restarted_by_kubernetes() -> None:
    pods = make_facts().pods
    assert outdated_beyond_partition(make_statefulset(**rolling(2)), pods) == ("datanode-2",)
    assert outdated_beyond_partition(make_statefulset(**rolling(3)), pods) == ()
    assert outdated_beyond_partition(make_statefulset(update_revision="rev-2"), pods) == ()


def test_below_the_partition_a_pod_comes_back_with_the_old_template() -> None:
    assert is_kept_back(make_statefulset(**rolling(3)), make_pod(2))
    assert not is_kept_back(make_statefulset(**rolling(2)), make_pod(2))
    assert not is_kept_back(make_statefulset(**rolling(3)), make_pod(2, revision="rev-2"))
    assert not is_kept_back(make_statefulset(update_revision="rev-2"), make_pod(2))


def names(facts: Facts, cause: Cause = Cause.CONFIG_CHANGED, asked: tuple[int, ...] = (0, 1, 2)) -> list[str]:
    return [pod.name for pod in in_order({f"datanode-{number}": cause for number in asked}, facts)]


@pytest.mark.parametrize("asks", [{}, {"restart": "now"}], ids=["nobody", "its annotation"])
def test_whom_the_partition_is_lowered_past_goes_too_and_before(asks: dict[str, str]) -> None:
    """It has the newest configuration, and somebody edited the template since: nothing else makes it due."""
    statefulset = make_statefulset(**rolling(3), template=Template(config_hash="b"))
    pods = (make_pod(0, config_hash="b"), make_pod(1, config_hash="a"), make_pod(2, config_hash="b", **asks))
    found = due_pods([statefulset], pods, {}, on_config_change=True)
    assert found == {"datanode-1": Cause.CONFIG_CHANGED, "datanode-2": Cause.TEMPLATE_CHANGED}
    facts = replace(make_facts(), statefulsets=(statefulset,), pods=pods)
    assert [pod.name for pod in in_order(found, facts)] == ["datanode-2"]
    others = replace(statefulset, controller="GreptimeDBCluster mine")
    own = {"datanode-2": Cause.POD_REQUESTED} if asks else {}
    assert due_pods([others], pods, {}, on_config_change=True) == {"datanode-1": Cause.CONFIG_CHANGED, **own}


def test_who_does_not_serve_comes_first_then_who_replays_least() -> None:
    facts = with_pod(make_facts(), 2, ready=False)
    assert names(facts) == ["datanode-2", "datanode-0", "datanode-1"]


def test_what_is_not_known_comes_last_and_names_decide_between_equals() -> None:
    facts = with_datanode(make_facts(), 0, entries=None)
    assert names(facts) == ["datanode-1", "datanode-2", "datanode-0"]
    facts = with_datanode(with_datanode(make_facts(), 0, entries=5), 2, entries=5)
    assert names(replace(facts, pods=tuple(reversed(facts.pods)))) == ["datanode-0", "datanode-2", "datanode-1"]


def test_a_partition_is_lowered_from_the_highest_ordinal() -> None:
    facts = replace(make_facts(), statefulsets=(make_statefulset(**rolling(3)),))
    assert names(facts) == ["datanode-2"]
    assert names(facts, asked=(0,)) == []
    assert names(with_pod(facts, 2, revision="rev-2")) == ["datanode-1", "datanode-2"]


def test_who_does_not_need_the_newest_template_does_not_wait_for_the_partition() -> None:
    facts = replace(make_facts(), statefulsets=(make_statefulset(**rolling(3)),))
    assert names(facts, Cause.REQUESTED) == ["datanode-0", "datanode-1", "datanode-2"]


def test_who_was_flushed_for_its_restart_comes_first_of_those_that_serve() -> None:
    due = dict.fromkeys(("datanode-0", "datanode-1", "datanode-2"), Cause.REQUESTED)
    facts = with_pod(make_facts(), 0, ready=False)
    assert [pod.name for pod in in_order(due, facts, "uid-2")] == ["datanode-0", "datanode-2", "datanode-1"]


def test_an_override_says_why_and_until_when() -> None:
    assert parse_override(" broker 3 is lost @ 2026-11-22T10:00:00+00:00", agreed(NOW)) == Grounds(
        "broker 3 is lost", NOW + timedelta(hours=1)
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must be <reason>@<expiry>"),
        ("@2026-11-22T10:00:00Z", "must be <reason>@<expiry>"),
        ("because@soon", "'soon' is no time"),
        ("because@2026-11-22T10:00:00", "has no time zone"),
        ("because@2026-11-22T09:00:00Z", "has expired: remove it"),
        ("because@2026-11-24T09:00:00Z", "more than 24 hours ahead"),
    ],
)
def test_an_override_that_counts_for_nothing_says_why(text: str, why: str) -> None:
    found = parse_override(text, agreed(NOW))
    assert isinstance(found, str)
    assert why in found
