"""The Kube port: the same promises from the real API server and from the fake."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from seawall.api.meta import MAINTENANCE_FINALIZER, TOPICS_FINALIZER, InvalidSpec, Key
from seawall.api.resource import Listing
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.errors import Conflict, Refused, SeawallError
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.step import Event, EventType
from seawall.ports import Kube
from tests.contract.kube_beds import Bed

pytestmark = pytest.mark.xdist_group("api-server")

SPEC: dict[str, Any] = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}, "topics": {"count": 2}}
STATUS = WALClusterStatus(kafka=KafkaStatus(cluster_id="c", brokers=BrokersStatus(total=3, online=2)))


def read(bed: Bed, name: str) -> WALCluster:
    found = bed.kube.get(WALCluster, Key(bed.namespace, name))
    assert found is not None
    return found


def test_what_is_not_there_is_none(bed: Bed) -> None:
    key = Key(bed.namespace, "absent")
    assert bed.kube.get(WALCluster, key) is None
    assert bed.kube.get_config_map(key) is None
    assert bed.kube.get_secret(key) is None
    assert bed.kube.list(WALCluster) == Listing([])
    assert bed.kube.list_claims("wal") == Listing([])


def test_an_object_is_read_with_its_defaults(bed: Bed) -> None:
    bed.apply("db", SPEC)
    found = read(bed, "db")
    assert not isinstance(found.spec, InvalidSpec)
    assert (found.spec.topics.count, found.spec.topics.replication_factor) == (2, 3)
    assert found.status == WALClusterStatus()
    assert [other.metadata.key for other in bed.kube.list(WALCluster).items] == [found.metadata.key]


def test_claims_are_the_objects_with_the_prefix_given_or_default(bed: Bed) -> None:
    bed.apply("default", SPEC)
    bed.apply("ours", {**SPEC, "topics": {"count": 2, "prefix": "ours"}})
    bed.apply("theirs", {**SPEC, "topics": {"count": 2, "prefix": "theirs"}})
    for name, prefix in (("default", TopicsSpec().prefix), ("ours", "ours")):
        claims = bed.kube.list_claims(prefix)
        assert claims.complete
        assert [each.metadata.key.name for each in claims.items] == [name]
    assert bed.kube.list_claims("our").items == []


def test_the_status_is_replaced_whole_and_only_at_the_version_that_was_read(bed: Bed) -> None:
    bed.apply("db", SPEC)
    before = read(bed, "db")
    bed.kube.replace_status(before, STATUS)
    after = read(bed, "db")
    assert after.status == STATUS
    assert after.metadata.generation == before.metadata.generation
    with pytest.raises(Conflict):
        bed.kube.replace_status(before, WALClusterStatus())
    bed.kube.replace_status(after, WALClusterStatus())
    assert read(bed, "db").status.kafka is None


def test_an_identical_status_changes_nothing(bed: Bed) -> None:
    bed.apply("db", SPEC)
    bed.kube.replace_status(read(bed, "db"), STATUS)
    before = read(bed, "db")
    bed.kube.replace_status(before, STATUS)
    assert read(bed, "db").metadata.resource_version == before.metadata.resource_version


def test_an_edit_of_the_spec_raises_the_generation(bed: Bed) -> None:
    bed.apply("db", SPEC)
    before = read(bed, "db")
    bed.apply("db", {**SPEC, "topics": {"count": 3}})
    assert read(bed, "db").metadata.generation == before.metadata.generation + 1


def test_finalizers_are_set_at_the_version_that_was_read_and_hold_the_object(bed: Bed) -> None:
    bed.apply("db", SPEC)
    before = read(bed, "db")
    bed.kube.set_finalizers(before, [TOPICS_FINALIZER])
    with pytest.raises(Conflict):
        bed.kube.set_finalizers(before, [])
    bed.delete("db")
    held = read(bed, "db")
    assert held.metadata.deletion_timestamp is not None
    assert held.metadata.finalizers == (TOPICS_FINALIZER,)
    bed.kube.set_finalizers(held, [])
    assert bed.kube.get(WALCluster, held.metadata.key) is None


def test_an_object_that_is_being_deleted_takes_no_new_finalizer(bed: Bed) -> None:
    bed.apply("db", SPEC)
    bed.kube.set_finalizers(read(bed, "db"), [TOPICS_FINALIZER, MAINTENANCE_FINALIZER])
    bed.delete("db")
    bed.kube.set_finalizers(read(bed, "db"), [TOPICS_FINALIZER])
    held = read(bed, "db")
    with pytest.raises(Refused, match="no new finalizers can be added if the object is being deleted"):
        bed.kube.set_finalizers(held, [TOPICS_FINALIZER, MAINTENANCE_FINALIZER])
    assert read(bed, "db") == held
    bed.kube.set_finalizers(held, [])


def test_an_object_without_finalizers_goes_at_once(bed: Bed) -> None:
    bed.apply("db", SPEC)
    gone = read(bed, "db")
    bed.delete("db")
    assert bed.kube.get(WALCluster, gone.metadata.key) is None


@pytest.mark.parametrize(
    "write",
    [
        lambda kube, gone: kube.replace_status(gone, STATUS),
        lambda kube, gone: kube.set_finalizers(gone, []),
    ],
)
def test_writes_to_an_object_that_was_made_anew_do_not_reach_it(
    bed: Bed, write: Callable[[Kube, WALCluster], None]
) -> None:
    bed.apply("db", SPEC)
    gone = read(bed, "db")
    bed.delete("db")
    bed.apply("db", SPEC)
    before = read(bed, "db")
    with pytest.raises(SeawallError):
        write(bed.kube, gone)
    assert read(bed, "db") == before


def test_a_config_map_is_created_once_and_replaced_at_the_version_that_was_read(bed: Bed) -> None:
    bed.apply("db", SPEC)
    owner, key = read(bed, "db"), Key(bed.namespace, "wal")
    bed.kube.write_config_map(owner, ConfigMap(key, {"a": "1"}))
    with pytest.raises(Conflict):
        bed.kube.write_config_map(owner, ConfigMap(key, {"a": "2"}))
    made = bed.kube.get_config_map(key)
    assert made is not None
    assert (made.data, made.controller_uid) == ({"a": "1"}, owner.metadata.uid)
    bed.kube.write_config_map(owner, ConfigMap(key, {"b": "2"}, resource_version=made.resource_version))
    with pytest.raises(Conflict):
        bed.kube.write_config_map(owner, ConfigMap(key, {"c": "3"}, resource_version=made.resource_version))
    replaced = bed.kube.get_config_map(key)
    assert replaced is not None
    assert replaced.data == {"b": "2"}


def test_an_immutable_config_map_keeps_its_bytes_and_takes_no_others(bed: Bed) -> None:
    bed.apply("db", SPEC)
    key, owner = Key(bed.namespace, "request"), read(bed, "db")
    bed.kube.write_config_map(owner, ConfigMap(key, {}, binary_data={"a.gz": b"\x1f\x8b"}, is_immutable=True))
    made = bed.kube.get_config_map(key)
    assert made is not None
    assert (made.binary_data, made.is_immutable) == ({"a.gz": b"\x1f\x8b"}, True)
    assert made.controller_uid == owner.metadata.uid
    with pytest.raises(Refused):
        bed.kube.write_config_map(owner, replace(made, binary_data={"a.gz": b"other"}))
    assert bed.kube.get_config_map(key) == made


def test_a_config_map_is_deleted_as_it_was_read_and_one_that_is_gone_is_no_error(bed: Bed) -> None:
    bed.apply("db", SPEC)
    key, owner = Key(bed.namespace, "request"), read(bed, "db")
    bed.kube.write_config_map(owner, ConfigMap(key, {"a": "1"}))
    before = bed.kube.get_config_map(key)
    assert before is not None
    bed.kube.write_config_map(owner, replace(before, data={"a": "2"}))
    with pytest.raises(Conflict):
        bed.kube.delete_config_map(before)
    now = bed.kube.get_config_map(key)
    assert now is not None
    for _ in range(2):
        bed.kube.delete_config_map(now)
        assert bed.kube.get_config_map(key) is None


@pytest.mark.parametrize(
    ("text", "data"),
    [("", bytes(2**20 + 1)), ("a" * 2**19, bytes(2**19 + 1)), ("a" * (2**20 + 1), b""), ("ä" * 2**19 + "a", b"")],
    ids=["bytes", "both", "text", "text that is longer as bytes"],
)
def test_a_config_map_that_is_too_large_is_refused(bed: Bed, text: str, data: bytes) -> None:
    bed.apply("db", SPEC)
    key, owner = Key(bed.namespace, "large"), read(bed, "db")
    with pytest.raises(Refused):
        bed.kube.write_config_map(owner, ConfigMap(key, {"b": text}, binary_data={"a.gz": data}))
    assert bed.kube.get_config_map(key) is None


def test_a_config_map_of_exactly_1_mib_is_taken(bed: Bed) -> None:
    bed.apply("db", SPEC)
    key, owner = Key(bed.namespace, "large"), read(bed, "db")
    bed.kube.write_config_map(owner, ConfigMap(key, {"b": "a" * 2**19}, binary_data={"a.gz": bytes(2**19)}))
    assert bed.kube.get_config_map(key) is not None


def test_somebody_elses_config_map_has_no_controller(bed: Bed) -> None:
    bed.put_config_map("theirs", {"a": "1"})
    found = bed.kube.get_config_map(Key(bed.namespace, "theirs"))
    assert found is not None
    assert found.controller_uid is None


def test_a_secret_is_read_as_bytes(bed: Bed) -> None:
    bed.put_secret("user", {"password": b"\xffp"})
    assert bed.kube.get_secret(Key(bed.namespace, "user")) == {"password": b"\xffp"}


def test_a_living_namespace_is_not_terminating_and_events_can_be_posted(bed: Bed) -> None:
    bed.apply("db", SPEC)
    event = Event(EventType.NORMAL, "Tested", "x" * 2000)
    assert bed.kube.post_event(read(bed, "db"), event)
    assert bed.kube.post_event(read(bed, "db"), event), "it was, a moment ago"
    assert not bed.kube.is_terminating(bed.namespace)
