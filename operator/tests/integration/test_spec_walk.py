"""The walk over all leaves of all specs, at a real API server: two validators agree, and nothing is lost in silence.

SPEC_WALK_SEED=<n> draws other values. All of them: `pytest -m soak`, whose counts go to e2e/soak/results.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import pytest

from seawall.api.v1alpha1.hold import WAL_HOLD
from seawall.crdgen.crd import build_crd
from seawall_e2e.loopback import ApiServer
from seawall_e2e.soak import write_counts
from tests.support.kube import KubeClient
from tests.walk.admission import Admission, Walked, sample, steps
from tests.walk.leaves import leaves

pytestmark = pytest.mark.integration

SEED = int(os.environ.get("SPEC_WALK_SEED", "71"))
OF_EACH = 3
MUTANTS = "mutants.seawall.dev"


@pytest.fixture(scope="module")
def walker(api_server: ApiServer) -> KubeClient:
    """Where the CRDs are as they are in the repository."""
    kube = KubeClient(api_server)
    kube.install_crds()
    return kube


def told(walked: Walked) -> str:
    """What a person reads when it fails."""
    return "\n".join(map(str, walked.findings[:40]))


def test_some_values_of_every_leaf_get_one_verdict(
    walker: KubeClient, record_property: Callable[[str, object], None]
) -> None:
    walked = Admission(walker).walk(sample(leaves(), OF_EACH, Random(SEED)))  # noqa: S311 - a seed, no secret
    record_property("values of specs, seed", f"{dict(walked.counts)}, {SEED}")
    assert not walked.findings, told(walked)
    assert walked.counts["leaves"] > 400
    assert min(walked.counts["accepted"], walked.counts["refused"]) > 400


@pytest.mark.soak
@pytest.mark.timeout(3_000)
def test_all_values_of_every_leaf_get_one_verdict(walker: KubeClient) -> None:
    walked = Admission(walker).walk(steps(leaves()))
    never = sorted({leaf.name for leaf in leaves() if not leaf.is_whole} - walked.accepted)
    write_counts("spec-walk-admission", {**dict(sorted(walked.counts.items())), "findings": len(walked.findings)})
    assert not walked.findings, told(walked)
    assert not never, "no value of these is ever taken"


def test_a_crd_that_differs_from_the_models_is_found(walker: KubeClient) -> None:
    """Another default, and a text that may be longer than the models read it."""
    crd = build_crd(WAL_HOLD)
    crd["metadata"]["name"], crd["spec"]["group"] = f"{WAL_HOLD.plural}.{MUTANTS}", MUTANTS
    (version,) = crd["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec["ttl"]["default"], spec["reason"]["maxLength"] = "12h", 2048
    crd["spec"]["names"]["shortNames"] = []
    walker.install_crd(crd)
    chosen = [leaf for leaf in leaves() if leaf.kind is WAL_HOLD and leaf.path[0] in {"ttl", "reason"}]
    found = {finding.what for finding in Admission(walker, MUTANTS).walk(steps(chosen)).findings}
    assert found >= {
        "a default of the CRD is none of the models",
        "it is taken",
        "the API server takes it, the operator cannot read it",
    }
