"""The topics of the target: made where there are none, guarded as WAL topics are, and their ids recorded.

Whatever is empty when its id is recorded becomes ours; only then the application may write to it. What has records then
is somebody else's, whoever made it.
"""

from __future__ import annotations

from seawall.api.v1alpha1.hold import WALHoldSpec
from seawall.api.v1alpha1.subscription_sinks import MirrorSink
from seawall.api.v1alpha1.subscription_status import MirroredTopic
from seawall.domain.kafka import AS_THEY_ARE, MIN_ISR, ConfigChange, NewTopic
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.subscription.actions import GuardTargets, MakeTargets
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.frozen_run import copied_by
from seawall.domain.subscription.holdable import edges
from seawall.domain.subscription.logs import LogsNow, begin
from seawall.domain.subscription.reasons import Reason
from seawall.domain.text import listed
from seawall.domain.topics.pool import desired_configs, is_same_value


def prepare(case: Case, sink: MirrorSink, source: LogsNow, target: LogsNow) -> SubscriptionDecision | None:
    """Records which logs are meant, guards and makes topics; None: all that is held has begun.

    A topic begins when its configs are right. One that the target refuses to make or to guard keeps no other from it.
    """
    guards, new = drift(case, sink, target), held_from(case)
    guarded, missing = {each.topic for each in guards}, [name for name in new if target.is_absent(name)]
    found = [begin(name, start, source, target) for name, start in new.items() if name not in guarded]
    begun = tuple(row for row in found if row is not None)
    if begun:
        verdict = case.goes_on(Reason.MAKING_TOPICS, f"{listed([row.name for row in begun])} begin")
        others = tuple(row for row in case.status.topics if row.name not in new)
        return case.becomes(verdict, topics=(*others, *begun), target_cluster_id=target.cluster_id)
    if guards:
        verdict = case.goes_on(Reason.MAKING_TOPICS, f"it sets configs of {listed([each.topic for each in guards])}")
        return case.stays(verdict, GuardTargets(guards))
    return _make(case, sink, missing, target) if missing else None


def held_from(case: Case) -> dict[str, int]:
    """Of topics that were never copied the first offset: where the log can be held from, and is."""
    granted = case.granted
    return {name: start for name, start in edges(case).items() if name not in case.rows and granted.get(name) == start}


def _make(case: Case, sink: MirrorSink, missing: list[str], target: LogsNow) -> SubscriptionDecision:
    configs = _configs(case, sink, sink.replication_factor)
    return make(case, tuple(NewTopic(name, sink.replication_factor, configs) for name in missing), target)


def make(case: Case, topics: tuple[NewTopic, ...], target: LogsNow) -> SubscriptionDecision:
    """Makes topics of the target, which all have as many replicas, once there are brokers for them."""
    names, factor = listed([topic.name for topic in topics]), topics[0].replication_factor
    if target.online < factor:
        message = f"the target has {target.online} brokers online, and {names} are to have {factor} replicas"
        return case.stays(case.goes_on(Reason.TOO_FEW_BROKERS, message))
    return case.stays(case.goes_on(Reason.MAKING_TOPICS, f"it makes {names}"), MakeTargets(topics))


def _configs(case: Case, sink: MirrorSink, replication_factor: int) -> dict[str, str]:
    """As those of the source's topics, but for what the sink says."""
    wanted = {"replication_factor": sink.replication_factor, "min_in_sync_replicas": sink.min_in_sync_replicas}
    return desired_configs(case.kafka.topics.model_copy(update=wanted), replication_factor) | AS_THEY_ARE


def drift(case: Case, sink: MirrorSink, target: LogsNow) -> tuple[ConfigChange, ...]:
    """Of topics that are ours, or are empty and about to be; of which the configs were asked for."""
    changes = (_change(case, sink, name, target) for name in case.selected if name in target.configs)
    return tuple(change for change in changes if change is not None and change.is_needed())


def _change(case: Case, sink: MirrorSink, name: str, target: LogsNow) -> ConfigChange | None:
    row, ends = case.rows.get(name), target.ends(name)
    is_ours = row is not None and row.target_id == target.topic_id(name)
    is_new = row is None and _is_held(case, name) and ends is not None and ends.high_watermark == 0
    replicas = target.replicas(name)
    if not (is_ours or is_new) or not replicas:
        return None
    now, wanted = target.configs[name], _configs(case, sink, replicas)
    differs = {key: value for key, value in wanted.items() if not is_same_value(now.get(key, ""), value)}
    if _is_enough(now.get(MIN_ISR), wanted.get(MIN_ISR)):
        differs.pop(MIN_ISR, None)
    return ConfigChange(name, set=differs)


def _is_enough(now: str | None, wanted: str | None) -> bool:
    """More replicas in sync than asked for are somebody's wish, and safe."""
    return now is not None and wanted is not None and now.isdigit() and int(now) >= int(wanted)


def _is_held(case: Case, name: str) -> bool:
    hold = case.observed.hold
    return hold is not None and isinstance(hold.spec, WALHoldSpec) and name in hold.spec.topics


def active(case: Case) -> tuple[MirroredTopic, ...]:
    """The topics that are copied, as the request names them."""
    return tuple(row for row in case.rows.values() if row.stopped is None)


def topics_of(case: Case) -> tuple[MirroredTopic, ...]:
    """Those of the run that is meant: what is held, and what is copied already.

    Whoever copies finds out itself that a log was cut. One that cannot be held keeps no other from being copied: once
    it is held, there is another run.
    """
    granted = case.granted
    copied = copied_by(case)
    return tuple(row for row in active(case) if row.name in granted or row.name in copied)


def wait_for_one(case: Case) -> SubscriptionDecision | None:
    """There is no run of nothing; None: of something."""
    names = unheld(case)
    if topics_of(case) or not names:
        return None
    return case.stays(case.goes_on(JobReason.HOLDING, f"{names[0]} is not held"))


def unheld(case: Case) -> list[str]:
    """The topics that have begun and do not stop, and that no run is of, because they are not held."""
    meant = {row.name for row in topics_of(case)}
    return [row.name for row in active(case) if row.name not in meant]
