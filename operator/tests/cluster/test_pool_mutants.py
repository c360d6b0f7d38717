"""The guards of topics, made, lost, and deleted twice, are taken away one by one: each story then ends badly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers import topic_creation, topic_deletion
from seawall.controllers.permission import require_managed
from seawall.controllers.topic_creation import TopicCreation
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.cluster import data_plane, decide, deletion, going
from seawall.domain.cluster.identity import pool_of
from seawall.domain.cluster.lost import MissingTopics, find_missing
from seawall.domain.cluster.readoption import ReadoptionNow
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.ledger import report_history
from seawall.domain.ledger.fence import Readoption
from seawall.domain.ledger.observation import ReadShards
from seawall.domain.partitions import BrokerState
from seawall.domain.topics import placing
from seawall.observe import claims, opened_cluster
from tests.cluster import test_lost_topics as lost
from tests.cluster import test_made_topics as made_topics
from tests.cluster import test_restored_deletion as restored
from tests.cluster import test_topic_deletion as deletions
from tests.fakes.kafka import FakeKafka
from tests.ledger import test_ledger_watch as unreadable
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def used_again(patch: Patch) -> None:
    """An annotation that was met when all was ours begins lost records all the same."""
    patch.setattr(ReadoptionNow, "unused", ReadoptionNow.followed)


def records_not_read(patch: Patch) -> None:
    """Whatever is missing is made."""
    patch.setattr(TopicCreation, "_read", lambda *_: (MissingTopics(), ReadShards({}, {})))


def record_that_is_gone_was_none(patch: Patch) -> None:
    """A shard that is gone is taken for one that never was."""
    patch.setattr(ReadShards, "lost_topics", lambda *_: frozenset())


def made_by_the_old_decision(patch: Patch) -> None:
    """Records and annotations are read once, when it is decided."""
    patch.setattr(
        TopicCreation, "create", lambda _, __, action, kafka: kafka.admin.create_topics(action.topics) or action
    )


def kafka_chooses_brokers(patch: Patch) -> None:
    """Topics are made wherever Kafka's dice say."""
    patch.setattr(topic_creation, "with_brokers", lambda _, topics, __: (topics, ""))


def notes_not_said(patch: Patch) -> None:
    """Where topics could not be made is not told."""
    patch.setattr(placing, "_not_online", lambda _: [])


def dead_brokers_get_topics(patch: Patch) -> None:
    """The state of brokers is not looked at."""
    original = placing.with_replicas

    def all_online(spec: Any, topics: Any, partitions: Any, brokers: Any) -> Any:
        return original(spec, topics, partitions, [replace(one, state=BrokerState.ONLINE) for one in brokers])

    patch.setattr(topic_creation, "with_replicas", all_online)


def object_not_read_again(patch: Patch) -> None:
    """The annotation is taken from the object that was decided about."""
    patch.setattr(topic_creation, "require_managed", lambda _, cluster: cluster)


def restores_asked_for_before_kafka(patch: Patch) -> None:
    """Whether a restore makes logs is known from before Kafka was asked for them."""
    honest, ask = TopicCreation._read, claims.current_readoption

    def early(self: TopicCreation, cluster: WALCluster, *rest: Any) -> Any:
        known = ask(self.kube, cluster, self.clock)
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(topic_creation, "current_readoption", lambda *_: known)
            return honest(self, cluster, *rest)

    patch.setattr(TopicCreation, "_read", early)


def unreadable_is_no_record(patch: Patch) -> None:
    """A shard that cannot be read is taken for an empty one."""
    patch.setattr(ReadShards, "why_unreadable", lambda *_: {})


def list_of_topics_believed(patch: Patch) -> None:
    """A topic that the list of all topics leaves out is lost."""
    unknown = TopicFailure(TopicTrouble.UNKNOWN_TOPIC, "")
    patch.setattr(topic_creation, "_describe", lambda _, names: dict.fromkeys(names, unknown))


def mark_ignored(patch: Patch) -> None:
    """An annotation adopts as often as it is asked."""

    def unaware(names: Any, shards: ReadShards, *rest: Any, **more: Any) -> MissingTopics:
        records = {
            number: {key: replace(record, readopted=None) for key, record in shard.items()}
            for number, shard in shards.records.items()
        }
        return find_missing(names, replace(shards, records=records), *rest, **more)

    patch.setattr(topic_creation, "find_missing", unaware)


def record_kept(patch: Patch) -> None:
    """The record of the lost log stays beside the new one."""
    patch.setattr(ReadShards, "without", lambda *_: {})


def kept_in_memory_only(patch: Patch) -> None:
    """What may not be made is not taken out of the plan."""
    honest = decide._creation

    def unaware(case: Any) -> Any:
        found = honest(case)
        return None if found is None else replace(found, kept=frozenset())

    patch.setattr(decide, "_creation", unaware)
    patch.setattr(MissingTopics, "kept", frozenset())


def ids_not_compared(patch: Patch) -> None:
    """A topic is the one that was decided about, by its name; Kafka is given the id that it has now."""
    patch.setattr(deletion, "why_remade", lambda *_: None)
    patch.setattr(topic_deletion, "why_remade", lambda *_: None)
    patch.setattr(topic_deletion, "ids_to_delete", _ids_now)


def _ids_now(_: Any, names: Sequence[str], pool: going.PoolNow, _doubted: object) -> dict[str, str]:
    return {name: pool.logs[name].topic_id for name in names if name in pool.logs}


def decided_without_an_end(patch: Patch) -> None:
    """Whatever has no record was forgotten, and is decided about anew."""
    honest = deletion.why_remade

    def unaware(cluster: Any, pool: going.PoolNow) -> Any:
        return honest(replace(cluster, status=cluster.status.model_copy(update={"deletion": None})), pool)

    patch.setattr(deletion, "why_remade", unaware)
    patch.setattr(topic_deletion, "why_remade", unaware)
    patch.setattr(topic_deletion, "ids_to_delete", _ids_now)


def decision_forgotten(patch: Patch) -> None:
    """A status that does not fit says nothing of the deletion."""
    honest = WALCluster._parse_status

    def unaware(raw: Any) -> Any:
        status, rest = honest(raw)
        return (status if "conditions" in raw else status.model_copy(update={"deletion": None})), rest

    patch.setattr(WALCluster, "_parse_status", unaware)


def ends_not_compared(patch: Patch) -> None:
    """Whoever wrote since needs nothing."""
    patch.setattr(deletion, "why_written", lambda *_: None)
    patch.setattr(topic_deletion, "why_written", lambda *_: None)


def compared_once(patch: Patch) -> None:
    """Ids and ends are compared when it is decided."""
    patch.setattr(topic_deletion, "why_remade", lambda *_: None)
    patch.setattr(topic_deletion, "why_written", lambda *_: None)


def any_deletion_decides(patch: Patch) -> None:
    """What another deletion decided counts."""
    patch.setattr(going, "_token", lambda _: 0)


def deleted_by_name(patch: Patch) -> None:
    """Kafka is given names."""

    def by_name(self: FakeKafka, ids: Mapping[str, str]) -> None:
        self.count("delete_topics")
        for name in ids:
            self.topics.pop(name, None)

    patch.setattr(FakeKafka, "delete_topics", by_name)


def unclear_is_gone(patch: Patch) -> None:
    """A topic of which nothing can be read is not there."""
    patch.setattr(deletion, "why_unclear", lambda _: None)
    patch.setattr(topic_deletion, "why_unclear", lambda _: None)


def decided_for_another(patch: Patch) -> None:
    """The object is not read again before it is written down what goes."""
    patch.setattr(TopicDeletion, "_require_same", lambda *_: None)


def database_asked_once(patch: Patch) -> None:
    """Where a database is declared, nobody looks who writes."""
    honest = deletion.why_written

    def unaware(cluster: Any, pool: Any, observation: Any) -> Any:
        return honest(cluster, pool, observation) if observation is None else None

    patch.setattr(deletion, "why_written", unaware)
    patch.setattr(topic_deletion, "why_written", unaware)


def clock_of_the_decision(patch: Patch) -> None:
    """A readoption is in time for as long as it stands."""
    patch.setattr(Readoption, "stands", lambda *_: True)
    patch.setattr(Readoption, "problem_by", lambda *_: None)


def _backup_from_the_middle() -> None:
    with pytest.MonkeyPatch.context() as patch:
        restored.test_topics_of_a_backup_from_the_middle_of_a_deletion_stay(patch)


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(opened_cluster, "own_pool", "unknown is not None", "False"),
        unreadable.test_a_served_namespace_that_cannot_be_read_is_named_and_nobody_is_told_to_delete_a_walcluster,
    ),
    (records_not_read, lost.test_a_lost_topic_with_a_record_is_not_made_again),
    (records_not_read, lost.test_a_pool_that_names_no_database_any_more_loses_topics_all_the_same),
    (record_that_is_gone_was_none, lost.test_a_record_that_is_gone_counts_as_one_until_a_person_begins_anew),
    (
        used_again,
        lost.test_an_annotation_that_was_used_makes_no_topic_whose_record_is_lost_later,
    ),
    (
        rewritten(data_plane, "_is_whole", "(missing is not None and missing.gone)", "False"),
        lost.test_an_annotation_is_not_used_up_before_the_record_of_a_missing_topic_has_begun_anew,
    ),
    (
        rewritten(data_plane, "_is_whole", ".issuperset(there)", " is not None"),
        lost.test_an_annotation_is_not_used_up_before_the_record_of_a_missing_topic_has_begun_anew,
    ),
    (made_by_the_old_decision, lost.test_a_topic_that_is_recorded_and_lost_after_the_decision_is_not_made),
    (
        object_not_read_again,
        lambda: lost.test_what_a_person_declares_is_read_again_right_before_the_topic_is_made(lost.retract),
    ),
    (
        clock_of_the_decision,
        lambda: lost.test_what_a_person_declares_is_read_again_right_before_the_topic_is_made(lost.expire),
    ),
    (
        clock_of_the_decision,
        lambda: lost.test_what_a_person_declares_is_read_again_right_before_the_topic_is_made(lost.disagree),
    ),
    (
        rewritten(claims, "current_readoption", "if found.standing is None", "if True", topic_creation),
        lost.test_an_annotation_that_expires_while_it_is_asked_for_restores_makes_no_topic,
    ),
    (restores_asked_for_before_kafka, lost.test_a_restore_that_begins_while_kafka_is_asked_lets_no_topic_be_made),
    (unreadable_is_no_record, lambda: lost.test_a_record_that_cannot_be_read_counts_as_one(lost.unreadable)),
    (unreadable_is_no_record, restored.test_an_unreadable_record_is_waited_for_without_an_end),
    (list_of_topics_believed, lost.test_a_topic_that_a_broker_has_not_heard_of_is_neither_lost_nor_made),
    (mark_ignored, lost.test_one_annotation_makes_no_second_topic),
    (mark_ignored, lost.test_what_is_lost_while_an_annotation_lingers_is_not_made_again),
    (record_kept, lost.test_a_person_gives_a_lost_log_up_and_the_new_one_is_a_first_contact),
    (kept_in_memory_only, lost.test_a_lost_topic_with_a_record_is_not_made_again),
    (ids_not_compared, lambda: restored.test_topics_that_were_made_since_the_backup_stay(restored.bare)),
    (
        ids_not_compared,
        restored.test_topics_of_a_backup_that_was_made_before_anything_was_decided_are_compared_with_their_records,
    ),
    (decided_without_an_end, _backup_from_the_middle),
    (
        ends_not_compared,
        lambda: restored.test_logs_that_were_written_to_since_the_backup_stay(recorded=False),
    ),
    (decision_forgotten, restored.test_a_status_that_does_not_fit_does_not_forget_that_it_was_decided),
    (compared_once, lambda: restored.test_it_is_compared_again_right_before_the_topics_go(restored.is_written)),
    (any_deletion_decides, restored.test_a_deletion_that_was_called_off_says_nothing_about_the_next_one),
    (deleted_by_name, restored.test_a_topic_that_is_made_anew_between_the_comparison_and_the_delete_stays),
    (unclear_is_gone, restored.test_a_topic_without_a_leader_is_waited_for),
    (decided_for_another, restored.test_nothing_is_written_down_for_a_deletion_that_was_called_off_meanwhile),
    (kafka_chooses_brokers, made_topics.test_a_pool_that_grows_evens_out_what_is_there),
    (notes_not_said, made_topics.test_a_broker_that_is_down_gets_nothing_and_the_event_says_so),
    (dead_brokers_get_topics, made_topics.test_a_broker_that_is_down_gets_nothing_and_the_event_says_so),
    (
        rewritten(deletion, "_end_is_unknown", "log is None or log.high_watermark is None", "False"),
        restored.test_a_topic_whose_end_was_not_told_while_the_declared_database_was_asked_is_waited_for,
    ),
    (
        rewritten(report_history, "_watched_since", "now if before.since is None or paused else before.since", "0"),
        lambda: deletions.test_a_database_that_was_silent_is_watched_for_one_grace_from_its_first_answer(
            answered_before=False
        ),
    ),
    (
        rewritten(report_history, "_watched_since", " or paused", ""),
        lambda: deletions.test_a_database_that_was_silent_is_watched_for_one_grace_from_its_first_answer(
            answered_before=True
        ),
    ),
    (database_asked_once, restored.test_somebody_who_writes_while_the_declared_database_is_asked_keeps_the_topics),
)


def test_every_guard_that_is_taken_away_is_missed() -> None:
    assert find_survivors(MUTANTS) == []


def test_a_record_that_is_forgotten_after_the_topic_was_made_is_lost_in_a_crash(monkeypatch: Patch) -> None:
    """The order of the two matters: who dies in between leaves a new log beside the record of the old one."""

    def late(self: TopicCreation, cluster: Any, action: Any, kafka: Any) -> Any:
        current, pool = require_managed(self.kube, cluster), pool_of(cluster)
        assert pool is not None
        _, shards = self._read(current, pool, [topic.name for topic in action.topics], kafka.logs)
        kafka.admin.create_topics(action.topics)
        for number, shard in shards.without(list(action.readopted)).items():
            self.intents.write(pool, number, shard)
        return action

    monkeypatch.setattr(TopicCreation, "create", late)
    with pytest.raises(AssertionError):
        lost.test_who_dies_while_a_topic_is_made_again_leaves_no_new_log_beside_the_record_of_the_old_one()
