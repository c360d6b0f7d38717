"""The targets of the largest runs, through the Kube port: the fake, and ConfigMaps on a real API server."""

from __future__ import annotations

import random
import string
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.purge import WALPurge
from seawall.controllers.targets import write_targets
from seawall.domain.errors import Refused
from seawall.domain.frozen_targets import Target, TargetsLost, parts_of
from seawall.observe.reading import read_targets
from seawall_e2e.loopback import ApiServer
from tests.contract.kube_beds import Bed
from tests.support.kube import KubeClient
from tests.support.patient import kube_api

pytestmark = pytest.mark.xdist_group("api-server")

RUN: dict[str, Any] = {"clusterRef": {"name": "wal"}}
TOPICS = 20_000


def a_run(bed: Bed) -> WALPurge:
    bed.apply("run", RUN, WALPurge)
    found = bed.kube.get(WALPurge, Key(bed.namespace, "run"))
    assert found is not None
    return found


def recorded(bed: Bed, run: WALPurge, targets: dict[str, Target]) -> WALPurge:
    """The run whose status names the targets."""
    written = write_targets(bed.kube, run, targets)
    assert written.targets == targets
    bed.kube.replace_status(run, run.status.model_copy(update={"frozen": written.frozen}))
    return a_run(bed)


def names_without_order(count: int) -> list[str]:
    chance = random.Random(7)  # noqa: S311 - no secret
    return ["".join(chance.choices(string.ascii_letters + string.digits, k=249)) for _ in range(count)]


def test_20_000_topics_with_the_longest_names_are_kept_in_full_config_maps(bed: Bed) -> None:
    """The names do not compress: that takes as many full ConfigMaps as no pool would, where names have a prefix."""
    targets = {name: Target(2**62 + at, at, 2**62 + at) for at, name in enumerate(names_without_order(TOPICS))}
    run = recorded(bed, a_run(bed), targets)
    assert run.status.frozen is not None
    assert run.status.frozen.topics == TOPICS
    assert run.status.frozen.parts >= 4
    assert read_targets(bed.kube, run) == targets


def test_writing_them_again_is_harmless_and_others_do_not_touch_them(bed: Bed) -> None:
    run, ours, theirs = a_run(bed), {"wal_0": Target(36, 0, 36)}, {"wal_0": Target(40, 0, 40)}
    assert write_targets(bed.kube, run, ours) == write_targets(bed.kube, run, ours)
    run = recorded(bed, run, ours)
    write_targets(bed.kube, run, theirs)
    assert read_targets(bed.kube, run) == ours


def test_a_run_that_names_none_has_none_and_one_whose_targets_are_gone_says_so(bed: Bed) -> None:
    run = a_run(bed)
    assert read_targets(bed.kube, run) == {}
    written = write_targets(bed.kube, run, {"wal_0": Target(36, 0, 36)})
    elsewhere = written.frozen.model_copy(update={"digest": "0" * 32})
    bed.kube.replace_status(run, run.status.model_copy(update={"frozen": elsewhere}))
    with pytest.raises(TargetsLost, match="are gone"):
        read_targets(bed.kube, a_run(bed))


def test_they_are_the_runs_and_immutable(bed: Bed) -> None:
    run = a_run(bed)
    (key,) = parts_of(run, write_targets(bed.kube, run, {"wal_0": Target(36, 0, 36)}).frozen)
    made = bed.kube.get_config_map(key)
    assert made is not None
    assert (made.controller_uid, made.is_immutable) == (run.metadata.uid, True)
    assert "gunzip" in made.data["about"]


LOOSE: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.test.seawall.dev"},
    "spec": {
        "group": "test.seawall.dev",
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.mark.integration
@pytest.mark.parametrize("length", [1_700_000, 2_500_000, 4_000_000])
def test_an_object_that_etcd_or_the_api_server_finds_too_large_is_refused(
    api_server: ApiServer, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """Trying again changes nothing: three layers say so, each in its own way."""
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig))
    client = KubeClient(api_server)
    client.install_crd(LOOSE)
    namespace = f"too-large-{length}"
    client.make_namespace(namespace)
    body = {
        "apiVersion": "test.seawall.dev/v1",
        "kind": "Thing",
        "metadata": {"generateName": "large-"},
        "status": "x" * length,
    }
    with pytest.raises(Refused, match="large"):
        kube_api().create(f"/apis/test.seawall.dev/v1/namespaces/{namespace}/things", body)
