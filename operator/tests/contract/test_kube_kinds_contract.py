"""The Kube port for objects that Seawall makes itself: the same promises from the real API server and from the fake."""

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import Stage, WALPurge, WALPurgeSpec, WALPurgeStatus
from seawall.api.v1alpha1.purge_template import ClusterRef, SafetySpec
from seawall.domain.errors import Conflict
from tests.contract.kube_beds import Bed

POLICY: dict[str, Any] = {"clusterRef": {"name": "wal"}, "interval": "1h30m"}
RUN = WALPurgeSpec(
    cluster_ref=ClusterRef(name="wal"),
    topics=("wal_*",),
    safety=SafetySpec(keep_entries=7, stale_after=timedelta(seconds=3), open_grace=timedelta(seconds=13)),
)

pytestmark = pytest.mark.xdist_group("api-server")


def policy(bed: Bed) -> WALPurgePolicy:
    bed.apply("nightly", POLICY, WALPurgePolicy)
    found = bed.kube.get(WALPurgePolicy, Key(bed.namespace, "nightly"))
    assert found is not None
    return found


def make_run(bed: Bed, name: str = "run", owner: WALPurgePolicy | None = None) -> WALPurge:
    bed.kube.create(WALPurge, Key(bed.namespace, name), RUN, owner)
    return read_run(bed, name)


def read_run(bed: Bed, name: str = "run") -> WALPurge:
    found = bed.kube.get(WALPurge, Key(bed.namespace, name))
    assert found is not None
    return found


def test_an_object_that_was_made_is_read_as_it_was_meant(bed: Bed) -> None:
    owner = policy(bed)
    made = make_run(bed, owner=owner)
    assert made.spec == RUN
    assert made.metadata.controller_uid == owner.metadata.uid
    assert made.status == WALPurgeStatus()


def test_an_object_without_an_owner_has_no_controller(bed: Bed) -> None:
    assert make_run(bed).metadata.controller_uid is None


def test_a_name_is_given_once(bed: Bed) -> None:
    before = make_run(bed)
    with pytest.raises(Conflict):
        make_run(bed)
    assert read_run(bed) == before


def test_objects_of_another_kind_or_namespace_are_not_listed(bed: Bed) -> None:
    policy(bed)
    make_run(bed, "a")
    make_run(bed, "b")
    for namespace in (None, bed.namespace):
        runs = bed.kube.list(WALPurge, namespace)
        assert (sorted(run.metadata.name for run in runs.items), runs.complete) == (["a", "b"], True)
        assert [found.metadata.name for found in bed.kube.list(WALPurgePolicy, namespace).items] == ["nightly"]
        assert bed.kube.list(WALCluster, namespace).items == []
    assert bed.kube.list(WALPurge, "default-of-nobody").items == []


def test_an_object_is_deleted_as_it_was_read(bed: Bed) -> None:
    stale = make_run(bed)
    bed.kube.replace_status(stale, WALPurgeStatus(stage=Stage.COMPLETED))
    with pytest.raises(Conflict):
        bed.kube.delete(stale)
    current = read_run(bed)
    assert current.status.is_finished
    bed.kube.delete(current)
    assert bed.kube.get(WALPurge, current.metadata.key) is None
    bed.kube.delete(current)


def test_an_object_that_was_made_anew_is_not_deleted(bed: Bed) -> None:
    gone = make_run(bed)
    bed.kube.delete(gone)
    anew = make_run(bed)
    with pytest.raises(Conflict):
        bed.kube.delete(gone)
    assert read_run(bed) == anew


def test_a_policy_is_read_with_its_durations(bed: Bed) -> None:
    spec = policy(bed).spec
    assert not isinstance(spec, InvalidSpec)
    assert spec.interval == timedelta(minutes=90)
    assert spec.safety.open_grace == timedelta(minutes=2)


def test_a_hold_is_read_with_its_offsets(bed: Bed) -> None:
    bed.apply("backup", {"clusterRef": {"name": "wal"}, "topics": {"wal_0": 0, "wal_1": 10**15}}, WALHold)
    found = bed.kube.get(WALHold, Key(bed.namespace, "backup"))
    assert found is not None
    assert not isinstance(found.spec, InvalidSpec)
    assert found.spec.topics == {"wal_0": 0, "wal_1": 10**15}


def test_a_spec_is_replaced_at_the_version_that_was_read_and_what_it_lacks_goes(bed: Bed) -> None:
    bed.apply("dr", {"clusterRef": {"name": "wal"}, "topics": {"wal_0": 3, "wal_1": 5}, "maxLagBytes": "1Gi"}, WALHold)
    before = bed.kube.get(WALHold, Key(bed.namespace, "dr"))
    assert before is not None
    assert not isinstance(before.spec, InvalidSpec)
    moved = before.spec.model_copy(update={"topics": {"wal_1": 7, "wal_2": 0}, "max_lag_bytes": None})
    bed.kube.replace_spec(before, moved)
    found = bed.kube.get(WALHold, Key(bed.namespace, "dr"))
    assert found is not None
    assert found.spec == moved
    assert found.metadata.generation == before.metadata.generation + 1
    with pytest.raises(Conflict):
        bed.kube.replace_spec(before, moved)
