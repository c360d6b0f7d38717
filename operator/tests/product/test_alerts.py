"""Each alert of the chart, judged by the real promtool: it fires on the series that it is for, and on no quiet ones."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from seawall.domain.times import OPERATOR_STUCK_SECONDS
from seawall_e2e.loopback.processes import platform_folder
from tests.product.test_chart import EVERYTHING, Render, helm, render, the

__all__ = ["helm", "render"]  # fixtures
FETCH_TIMEOUT = 300
POD = "seawall-5d9c7b6f4-x2x7k"
OBJECT = {"namespace": "db", "name": "wal"}


@dataclass(frozen=True)
class Story:
    """Series, in promtool's notation: a value, and what each further minute adds to it.

    Attributes:
        fires: by metric and its own labels, what makes the alert fire.
        quiet: the same where all is well.
        at: minutes after which both are judged, beyond the alert's `for`.
        before: minutes at which the first series does not fire yet; None: it cannot be earlier.
    """

    fires: Mapping[str, str]
    quiet: Mapping[str, str]
    at: int
    before: int | None = None


def level(metric: str, bad: str, good: str, at: int, before: int | None = None) -> Story:
    """A gauge that stays as it is."""
    return Story({metric: f"{bad}+0x{at}"}, {metric: f"{good}+0x{at}"}, at, before)


def age(metric: str, at: int, before: int, period: str = "", exists: str = "") -> Story:
    """A time that stays where the world began, or moves on each minute; `period` is of 600 s, `exists` of 1."""
    beside = ({period: f"600+0x{at}"} if period else {}) | ({exists: f"1+0x{at}"} if exists else {})
    return Story({metric: f"0+0x{at}", **beside}, {metric: f"0+60x{at}", **beside}, at, before)


def count(metric: str) -> Story:
    """A counter that was there, and goes up once; what it counted half an hour ago, or before, is quiet."""
    return Story({metric: "0+0x40 1+0x20"}, {metric: "7+0x60"}, 44, 40)


def condition(name: str, status: str, kind: str = "WALPurge") -> str:
    """One condition of an object."""
    return f'seawall_object_condition{{kind="{kind}",type="{name}",status="{status}",reason="ChangeRefused"}}'


DAY = 24 * 60
QUORUM = 'seawall_object_condition{{kind="WALCluster",type="QuorumHealthy",status="Unknown",reason="{}"}}'
LEFT_ON = 'seawall_object_condition{{kind="WALCluster",type="DatanodesHealthy",status="False",reason="{}"}}'
EXISTS = condition("Ready", "True", "WALCluster")
COUNTERS = {
    "SeawallPurgeFailed": 'seawall_purge_runs_total{result="Failed"}',
    "SeawallLogDoesNotReplay": 'seawall_verifications_total{outcome="Failed"}',
    "SeawallVerificationWithoutVerdict": 'seawall_verifications_total{outcome="Incomplete"}',
    "SeawallBackupFailed": 'seawall_backups_total{outcome="Refused"}',
    "SeawallRestoreFailed": 'seawall_restores_total{result="Failed"}',
    "SeawallHoldLost": "seawall_holds_lost_total",
    "SeawallWatchDeaf": 'seawall_watch_deaf_total{kind="WALPurge"}',
}
STORIES: Mapping[str, Story] = {
    "SeawallNoLeader": Story({"seawall_leader": "0+0x9"}, {"seawall_leader": "1+0x9"}, 5, 1),
    "SeawallClocksDisagree": level("seawall_clocks_agree", "0", "1", 5, 1),
    "SeawallReconcileStuck": age('seawall_reconcile_in_progress_start_time_seconds{kind="WALPurge"}', 4, 2),
    "SeawallOperatorRestarts": Story(
        {"seawall_process_start_time_seconds": "0+0x9 600+0x9 1200+0x9 1800+0x9 2400+0x20"},
        {"seawall_process_start_time_seconds": "0+0x9 600+0x9 1200+0x9 1800+0x30"},
        42,
        39,
    ),
    "SeawallReconcileFailing": Story(
        {'seawall_reconcile_duration_seconds_count{outcome="error"}': "0+1x40"},
        {
            'seawall_reconcile_duration_seconds_count{outcome="done"}': "0+9x40",
            'seawall_reconcile_duration_seconds_count{outcome="error"}': "3+0x40",
        },
        40,
        10,
    ),
    "SeawallWatchDeaf": count(COUNTERS["SeawallWatchDeaf"]),
    "SeawallStalled": Story(
        {condition("Stalled", "True"): "1+0x20", condition("Failed", "False"): "1+0x20"},
        {
            condition("Stalled", "False", "WALCluster"): "1+0x20",
            condition("Stalled", "True"): "1+0x20",
            condition("Failed", "True"): "1+0x20",
            condition("Stalled", "True", "WALHold"): "1+0x20",
            condition("Lost", "True", "WALHold"): "1+0x20",
        },
        16,
        14,
    ),
    "SeawallTopicsNotReady": Story(
        {'seawall_topics{state="Missing"}': "1+0x20", 'seawall_topics{state="Ready"}': "9+0x20"},
        {'seawall_topics{state="Foreign"}': "1+0x20", 'seawall_topics{state="Ready"}': "9+0x20"},
        16,
        14,
    ),
    "SeawallTopicsRefuseWrites": level('seawall_topics{state="UnderMinISR"}', "1", "0", 2, 0),
    "SeawallNearLimit": level("seawall_database_answer_used_ratio", "0.8", "0.79", 11, 9),
    "SeawallQuorumAtRisk": level('seawall_quorum_voter_lag{voter="3"}', "1001", "1000", 11, 9),
    "SeawallQuorumUnanswered": Story(
        {QUORUM.format("QuorumUnanswered"): "1+0x12"}, {QUORUM.format("NotAllowed"): "1+0x12"}, 6, 4
    ),
    "SeawallKafkaUnreachable": level("seawall_kafka_reachable", "0", "1", 6, 4),
    "SeawallWALNotIntact": Story(
        {condition("WALIntact", "False", "WALCluster"): "1+0x9", "seawall_wal_intact": "1+0x9"},
        {condition("WALIntact", "Unknown", "WALCluster"): "1+0x9", "seawall_wal_intact": "1+0x9"},
        2,
        0,
    ),
    "SeawallLedgerCannotLook": Story(
        {"seawall_wal_can_look": "1+0x12", "seawall_wal_unreadable_shards": "1+0x12"},
        {"seawall_wal_can_look": "1+0x12", "seawall_wal_unreadable_shards": "0+0x12"},
        11,
        9,
    ),
    "SeawallPurgeFailed": count(COUNTERS["SeawallPurgeFailed"]),
    "SeawallLogDoesNotReplay": count(COUNTERS["SeawallLogDoesNotReplay"]),
    "SeawallVerificationWithoutVerdict": count(COUNTERS["SeawallVerificationWithoutVerdict"]),
    "SeawallNotVerifiedLately": age(
        "seawall_last_verified_timestamp_seconds", 2 * DAY + 40, 2 * DAY + 20, exists=EXISTS
    ),
    "SeawallReassignmentHangs": age("seawall_reassignment_progress_timestamp_seconds", 37, 33),
    "SeawallThrottleLeft": Story(
        {"seawall_throttled_topics": "2+0x20"},
        {"seawall_throttled_topics": "2+0x20", "seawall_reassignment_partitions": "4+0x20"},
        16,
        14,
    ),
    "SeawallBrokerThrottled": Story({'seawall_broker_throttle_bytes_per_second{broker="1"}': "1000+0x12"}, {}, 11, 9),
    "SeawallLeadersNotPreferred": Story(
        {
            'seawall_partitions_in_trouble{trouble="NotPreferredLeader"}': "2+0x40",
            'seawall_broker_leaders{broker="1"}': "19+0x40",
        },
        {
            'seawall_partitions_in_trouble{trouble="NotPreferredLeader"}': "2+0x40",
            'seawall_broker_leaders{broker="1"}': "20+0x40",
        },
        31,
        29,
    ),
    "SeawallKafkaCertificates": Story(
        {condition("CertificatesValid", "False", "WALCluster"): "1+0x70"},
        {
            condition("CertificatesValid", "True", "WALCluster"): "1+0x70",
            condition("KafkaUsersReady", "False", "WALCluster"): "1+0x70",
        },
        62,
        59,
    ),
    "SeawallKafkaNodesUnhealthy": Story(
        {condition("KafkaNodesHealthy", "False", "WALCluster"): "1+0x20"},
        {
            condition("KafkaNodesHealthy", "True", "WALCluster"): "1+0x20",
            condition("KafkaNodesHealthy", "Unknown", "WALCluster"): "1+0x20",
            condition("KafkaVolumesSized", "False", "WALCluster"): "1+0x20",
        },
        16,
        14,
    ),
    "SeawallKafkaVolumes": Story(
        {condition("KafkaVolumesSized", "False", "WALCluster"): "1+0x40"},
        {
            condition("KafkaVolumesSized", "True", "WALCluster"): "1+0x40",
            condition("KafkaVolumesSized", "Unknown", "WALCluster"): "1+0x40",
            condition("CertificatesValid", "False", "WALCluster"): "1+0x40",
        },
        32,
        29,
    ),
    "SeawallDatanodesUnhealthy": Story(
        {'seawall_datanodes{health="Down"}': "1+0x12"}, {'seawall_datanodes{health="Restarting"}': "1+0x12"}, 11, 9
    ),
    "SeawallRestartStalled": level('seawall_restart_stage{stage="Stalled"}', "1", "0", 2, 0),
    "SeawallPolicyWithoutSuccess": age(
        "seawall_policy_last_success_timestamp_seconds", 62, 59, "seawall_policy_period_seconds"
    ),
    "SeawallBackupLate": age(
        "seawall_backup_policy_last_success_timestamp_seconds", 37, 34, "seawall_backup_policy_period_seconds"
    ),
    "SeawallBackupFailed": count(COUNTERS["SeawallBackupFailed"]),
    "SeawallRestoreFailed": count(COUNTERS["SeawallRestoreFailed"]),
    "SeawallDrillFailed": level("seawall_drill_passed", "0", "1", 2, 0),
    "SeawallDrillLate": age("seawall_drill_last_success_timestamp_seconds", 37, 34, "seawall_drill_period_seconds"),
    "SeawallNoBackupForADay": age("seawall_last_backup_timestamp_seconds", DAY + 32, DAY + 29, exists=EXISTS),
    "SeawallSubscriptionStopped": level('seawall_subscription_state{state="Lost"}', "1", "0", 6, 4),
    "SeawallSubscriptionLagging": level('seawall_subscription_state{state="Lagging"}', "1", "0", 11, 9),
    "SeawallSubscriptionBudget": Story(
        {"seawall_subscription_held_bytes": "51+0x9", "seawall_subscription_budget_bytes": "100+0x9"},
        {"seawall_subscription_held_bytes": "50+0x9", "seawall_subscription_budget_bytes": "100+0x9"},
        6,
        4,
    ),
    "SeawallHoldAtRisk": level('seawall_holds{state="AtRisk"}', "1", "0", 2, 0),
    "SeawallHoldLost": count(COUNTERS["SeawallHoldLost"]),
}
LATE = f"0+0x{2 * DAY + 40}"
BY_SCHEDULE = Story(
    {
        "seawall_last_verified_timestamp_seconds": LATE,
        "seawall_verification_period_seconds": f"600+0x{2 * DAY + 40}",
        EXISTS: f"1+0x{2 * DAY + 40}",
    },
    {
        "seawall_last_verified_timestamp_seconds": LATE,
        "seawall_verification_period_seconds": f"604800+0x{2 * DAY + 40}",
        EXISTS: f"1+0x{2 * DAY + 40}",
    },
    2 * DAY + 40,
    59,
)
"""SeawallNotVerifiedLately of WALClusters with a schedule: late within the hour, and not late after two days."""
SCHEDULED = "seawall_verification_scheduled_timestamp_seconds"
NEVER_VERIFIED = age(SCHEDULED, 62, 59, "seawall_verification_period_seconds", EXISTS)
"""SeawallNotVerifiedLately of a WALCluster whose scheduled verifications have all come to nothing."""
VERIFIED = replace(NEVER_VERIFIED, quiet={**NEVER_VERIFIED.fires, "seawall_last_verified_timestamp_seconds": "0+60x62"})
UNREADABLE = age(SCHEDULED, 2 * DAY + 40, 2 * DAY + 20, exists=EXISTS)
"""The same with a schedule that nobody can read: it has no period."""
POLICY_DELETED = Story(
    {"seawall_last_backup_timestamp_seconds": "0+0x100 stale", EXISTS: f"1+0x{DAY + 90}"},
    {"seawall_last_backup_timestamp_seconds": f"0+0x{DAY + 4} {DAY * 60 + 240}+0x90", EXISTS: f"1+0x{DAY + 90}"},
    DAY + 55,
    DAY + 29,
)
"""SeawallNoBackupForADay: the backups went with their policy, and the process that knew of them is gone; and a daily
backup that was five minutes late."""
IN_MAINTENANCE = Story(
    {LEFT_ON.format("MaintenanceLeftOn"): "1+0x12", 'seawall_datanodes{health="Serving"}': "3+0x12"},
    {LEFT_ON.format("Restarting"): "1+0x12", 'seawall_datanodes{health="Serving"}': "3+0x12"},
    11,
    9,
)
"""SeawallDatanodesUnhealthy of a database whose datanodes all serve, and in which nothing fails over."""
DAMAGED = level("seawall_wal_intact", "0", "1", 2, 0)
"""SeawallWALNotIntact of what a look found, and no status says yet."""
STOPPED = level('seawall_subscription_state{state="Stopped"}', "1", "0", 6, 4)
"""SeawallSubscriptionStopped of one that is not Lost."""
PREFIX = 58
"""What Kubernetes leaves of a pod's name before its last five characters."""
EVERYWHERE = {"seawall_leader", "seawall_clocks_agree", "seawall_process_start_time_seconds"}
"""Of the operator's own namespace, and of no object."""


def series(given: Mapping[str, str]) -> list[dict[str, str]]:
    """With the labels that each has: what Prometheus adds, and of which object it is."""
    found = []
    for text, values in given.items():
        metric, _, own = text.removesuffix("}").partition("{")
        of = {"namespace": "ops"} if metric in EVERYWHERE else OBJECT
        labels = ",".join([f'pod="{POD}"', *(f'{name}="{value}"' for name, value in of.items()), own]).strip(",")
        found.append({"series": f"{metric}{{{labels}}}", "values": values})
    return found


def firing(alert: str, at: int, *, fires: bool) -> dict[str, Any]:
    """How many of this alert fire then."""
    expected = [{"labels": "{}", "value": 1}] if fires else []
    expression = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    return {"expr": expression, "eval_time": f"{at}m", "exp_samples": expected}


def cases_of(alert: str, story: Story) -> Iterator[dict[str, Any]]:
    """What promtool shall find: tests of its format."""
    early = [] if story.before is None else [firing(alert, story.before, fires=False)]
    for given, found in (
        (story.fires, [*early, firing(alert, story.at, fires=True)]),
        (story.quiet, [firing(alert, story.at, fires=False)]),
    ):
        yield {"interval": "1m", "input_series": series(given), "promql_expr_test": found}


def judge(rule: Mapping[str, Any], story: Story, folder: Path) -> str:
    """What promtool finds wrong with a rule; empty: nothing."""
    (folder / "rules.yaml").write_text(json.dumps({"groups": [{"name": "one", "rules": [rule]}]}))
    asked = {"rule_files": ["rules.yaml"], "tests": list(cases_of(str(rule["alert"]), story))}
    (folder / "tests.yaml").write_text(json.dumps(asked))
    command = [str(platform_folder("promtool.sh", FETCH_TIMEOUT) / "promtool"), "test", "rules", "tests.yaml"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - promtool
    return "" if found.returncode == 0 else f"{found.stdout}{found.stderr}"


@pytest.fixture
def rules(render: Render) -> dict[str, dict[str, Any]]:
    """By the names of their alerts."""
    (group,) = the(render(EVERYTHING), "PrometheusRule")["spec"]["groups"]
    return {str(rule["alert"]): rule for rule in group["rules"]}


def test_each_alert_fires_when_it_should_and_not_before_and_not_when_all_is_well(
    rules: Mapping[str, Mapping[str, Any]], tmp_path: Path
) -> None:
    assert rules.keys() == STORIES.keys()
    wrong = {alert: said for alert, rule in rules.items() if (said := judge(rule, STORIES[alert], tmp_path))}
    assert not wrong, "\n".join(f"{alert}: {said}" for alert, said in wrong.items())


def test_a_verification_is_late_by_its_own_schedule(rules: Mapping[str, dict[str, Any]], tmp_path: Path) -> None:
    rule = rules["SeawallNotVerifiedLately"]
    assert not judge(rule, BY_SCHEDULE, tmp_path)
    assert judge({**rule, "expr": rule["expr"].replace("unless on", "and on")}, BY_SCHEDULE, tmp_path)


@pytest.mark.parametrize(("alert", "metric"), COUNTERS.items())
def test_the_first_event_of_a_new_pod_is_told_though_its_counter_begins_with_it(
    rules: Mapping[str, dict[str, Any]], tmp_path: Path, alert: str, metric: str
) -> None:
    rule, begun = rules[alert], Story({metric: "_ _ 1+0x20"}, {metric: "_ _ 0+0x20"}, 4, 1)
    assert not judge(rule, begun, tmp_path)
    assert judge({**rule, "expr": rule["expr"].partition(" or ")[0]}, begun, tmp_path)


@pytest.mark.parametrize(("alert", "metric"), COUNTERS.items())
def test_what_was_counted_before_prometheus_was_away_is_not_told_again(
    rules: Mapping[str, dict[str, Any]], tmp_path: Path, alert: str, metric: str
) -> None:
    rule, away = rules[alert], Story({metric: "7+0x30 _x10 7+0x26 8+0x9"}, {metric: "7+0x30 _x10 7+0x60"}, 70, 66)
    assert not judge(rule, away, tmp_path)
    of_a_moment = re.sub(r"count_over_time\((.+?)\[6h\] offset 30m\)", r"\1 offset 30m", rule["expr"])
    assert of_a_moment != rule["expr"]
    assert judge({**rule, "expr": of_a_moment}, away, tmp_path)


@pytest.mark.parametrize(
    ("alert", "story"), [("SeawallDatanodesUnhealthy", IN_MAINTENANCE), ("SeawallWALNotIntact", DAMAGED)]
)
def test_what_the_first_series_of_an_alert_does_not_say_is_told_by_another(
    rules: Mapping[str, dict[str, Any]], tmp_path: Path, alert: str, story: Story
) -> None:
    rule = rules[alert]
    assert not judge(rule, story, tmp_path)
    assert judge({**rule, "expr": rule["expr"].partition(" or ")[0]}, story, tmp_path)


@pytest.mark.parametrize("story", [NEVER_VERIFIED, VERIFIED, UNREADABLE])
def test_a_schedule_of_which_no_verification_ever_completes_is_late_too(
    rules: Mapping[str, dict[str, Any]], tmp_path: Path, story: Story
) -> None:
    rule = rules["SeawallNotVerifiedLately"]
    assert not judge(rule, story, tmp_path)
    assert judge({**rule, "expr": re.sub(rf" or {SCHEDULED}{{.+?}}", "", rule["expr"])}, story, tmp_path)


def test_a_backup_that_went_with_its_policy_is_remembered(rules: Mapping[str, dict[str, Any]], tmp_path: Path) -> None:
    rule = rules["SeawallNoBackupForADay"]
    assert not judge(rule, POLICY_DELETED, tmp_path)
    _, newest, remembered = re.split(r"(?=max by )", rule["expr"])
    assert judge({**rule, "expr": f"time() - ({newest.removesuffix('or ')}) > 86400"}, POLICY_DELETED, tmp_path)
    assert judge({**rule, "expr": f"time() - ({remembered}"}, POLICY_DELETED, tmp_path), "an hour behind"


@pytest.mark.parametrize("alert", ["SeawallNotVerifiedLately", "SeawallNoBackupForADay"])
def test_of_a_walcluster_that_is_gone_nothing_is_late(
    rules: Mapping[str, dict[str, Any]], tmp_path: Path, alert: str
) -> None:
    """Verifications and backups by hand outlive it."""
    rule, story = rules[alert], STORIES[alert]
    gone = replace(story, quiet={name: values for name, values in story.fires.items() if name != EXISTS})
    assert not judge(rule, gone, tmp_path)
    assert judge({**rule, "expr": rule["expr"].rpartition(" and on ")[0]}, gone, tmp_path)


def test_a_subscription_that_stopped_is_told_as_one_that_is_lost(
    rules: Mapping[str, dict[str, Any]], tmp_path: Path
) -> None:
    rule = rules["SeawallSubscriptionStopped"]
    assert not judge(rule, STOPPED, tmp_path)
    assert judge({**rule, "expr": rule["expr"].replace("Stopped|Lost", "Lost")}, STOPPED, tmp_path)


@pytest.mark.parametrize("length", [7, 46, 47, 48, 50, 60])
@pytest.mark.parametrize("template", ["5d9c7b6f4", "65d9c7b6f4"])
def test_rules_select_the_pods_of_a_release_however_long_its_name_is(
    render: Render, length: int, template: str
) -> None:
    objects = render({**EVERYTHING, "fullnameOverride": "s" * length})
    (group,) = the(objects, "PrometheusRule")["spec"]["groups"]
    selectors = {found for rule in group["rules"] for found in re.findall(r'pod=~"(.+?)"', rule["expr"])}
    assert all("pod=~" in rule["expr"] for rule in group["rules"])
    (selector,) = selectors
    deployment = the(objects, "Deployment")["metadata"]["name"]
    assert re.fullmatch(selector, f"{deployment}-{template}-"[:PREFIX] + "x2x7k")
    assert not re.fullmatch(selector, f"{deployment}-b-{template}-x2x7k"), "of another release"


def test_a_tick_that_hangs_is_told_well_before_the_kubelet_ends_all_ticks(rules: Mapping[str, dict[str, Any]]) -> None:
    rule = rules["SeawallReconcileStuck"]
    told_after = int(rule["expr"].rpartition("> ")[2]) + 60 * int(rule["for"].removesuffix("m"))
    assert told_after + 60 <= OPERATOR_STUCK_SECONDS, "later, nobody hears of it: its series ends with the process"


@pytest.mark.parametrize(
    ("alert", "change"),
    [
        ("SeawallBackupLate", ("> 3 *", "> 30 *")),
        ("SeawallOperatorRestarts", ("[1h]", "[15m]")),
        ("SeawallRestoreFailed", ('result="Failed"', 'result="Completed"')),
        ("SeawallHoldLost", ("> 0", ">= 0")),
        ("SeawallHoldLost", ("unless", "and")),
        ("SeawallKafkaUnreachable", ("== 0", "== 2")),
        ("SeawallThrottleLeft", ("unless on (namespace, name)", "or")),
        ("SeawallStalled", ('status="True"', 'status="False"')),
        ("SeawallWALNotIntact", ('status="False"', 'status="Unknown"')),
        ("SeawallStalled", ("Failed|Lost", "Lost")),
        ("SeawallStalled", ("Failed|Lost", "Failed")),
        ("SeawallSubscriptionStopped", ("Stopped|Lost", "Stopped")),
    ],
)
def test_a_rule_that_is_wrong_is_found(
    rules: Mapping[str, dict[str, Any]], tmp_path: Path, alert: str, change: tuple[str, str]
) -> None:
    rule = rules[alert]
    broken = {**rule, "expr": rule["expr"].replace(*change)}
    assert broken != rule
    assert judge(broken, STORIES[alert], tmp_path)
