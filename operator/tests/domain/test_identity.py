"""Which Kafka is meant, and what becomes of a failure to write the object itself."""

import pytest

from seawall.api.meta import TOPICS_FINALIZER
from seawall.domain.decision import Failure
from seawall.domain.step import Record, Wait
from tests.domain.builders import (
    CLUSTER_ID,
    NOW,
    PINNED,
    make_cluster,
    make_kafka,
    make_spec,
    make_topic,
    next_step,
    observe,
    settle,
)


def test_a_cluster_that_the_spec_rules_out_is_not_pinned() -> None:
    spec = make_spec(external={"clusterId": "another"})
    step = next_step(make_cluster(spec), observe(spec, make_kafka()))
    assert isinstance(step, Record)
    assert step.status.kafka is None


def test_a_pinned_cluster_that_the_spec_rules_out_keeps_its_topics() -> None:
    spec = make_spec({"deletionPolicy": "Delete"}, external={"clusterId": "another"})
    cluster = make_cluster(spec, PINNED, deletionTimestamp=NOW, finalizers=[TOPICS_FINALIZER])
    _, step = settle(cluster, observe(spec, make_kafka(make_topic("wal_0"), cluster_id=CLUSTER_ID)))
    assert isinstance(step, Wait)


@pytest.mark.parametrize(("final", "stalled"), [(True, "True"), (False, "False")])
def test_a_finalizer_that_cannot_be_written_is_told(final: bool, stalled: str) -> None:  # noqa: FBT001 - a parameter
    spec = make_spec({"deletionPolicy": "Delete"})
    step = next_step(make_cluster(spec, PINNED), observe(spec, make_kafka()), Failure("no", final=final))
    assert isinstance(step, Record)
    found = {condition.type: condition for condition in step.status.conditions}
    assert found["Stalled"].status == stalled
    assert found["Ready"].message == "no"


def test_a_finalizer_that_cannot_be_removed_is_tried_again() -> None:
    spec = make_spec()
    cluster = make_cluster(spec, PINNED, deletionTimestamp=NOW, finalizers=[TOPICS_FINALIZER])
    _, step = settle(cluster, observe(spec, make_kafka()), Failure("no", final=False))
    assert isinstance(step, Wait)
    assert step.after is not None
