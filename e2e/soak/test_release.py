"""A release as people get it: by digest, from a registry; upgraded from the one before, with all kinds, and back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from seawall.api.v1alpha1.kinds import KINDS
from seawall_e2e.commands import CommandFailed, Object, kubectl
from seawall_e2e.intents import read_intents
from seawall_e2e.loopback.processes import free_ports
from seawall_e2e.objects import apply, get, items
from seawall_e2e.purges import FAST, Purges
from seawall_e2e.refdb import RefDb, RefDbImages, in_sight
from seawall_e2e.releases import Key, Tree, install_crds_from, install_operator_from, newest_tag, registry, upgraded
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

TAG = newest_tag()
FORMER, NOW = upgraded(TAG, version("seawall"))
ARTEFACTS = 6
"""Four images and two charts."""
LARGE = "image-replay"
"""The file of a release that is enough to judge: the SBOMs of images are of one program."""


@pytest.fixture
def pushed(tmp_path: Path, image: str) -> Iterator[str]:  # noqa: ARG001 - the cluster is up
    """A registry that the cluster's nodes reach, too."""
    (tmp_path / "registry").mkdir()
    with registry(tmp_path / "registry", free_ports(1)[0]) as address:
        yield address


def build_former(folder: Path, address: str) -> str:
    """The release before this one, as far as it is installed: its version."""
    tree = Tree.of_tag(folder / "tree", TAG) if TAG else Tree.of_here(folder / "tree", FORMER)
    tree.build(folder / "release", address, IMAGES="operator")
    return tree.version


def judge_sboms(release: Path) -> None:
    """Each is valid, and the operator's image has Kafka's client, and Debian's packages."""
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415 - as the next
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415 - a second and more, in each process that collects tests

    found = {path.name: json.loads(path.read_text()) for path in release.glob("*.cdx.json")}
    for name, sbom in found.items():
        if LARGE in name or "image" not in name:
            validator = JsonStrictValidator(SchemaVersion.from_version(sbom["specVersion"]))
            assert validator.validate_str(json.dumps(sbom)) is None, name
    (operator,) = (sbom for name, sbom in found.items() if name.endswith("image-operator.cdx.json"))
    names = {each["name"] for each in operator["components"]}
    assert {"confluent-kafka", "seawall", "libc6"} <= names


def judge_signatures(release: Path, key: Key, folder: Path) -> None:
    """All that is in the registry was signed by the key, and so were the checksums, which fit."""
    references = (release / "images.txt").read_text().split()
    assert len(references) == ARTEFACTS
    for each in references:
        key.verify(each)
    key.verify_file(release / "SHA256SUMS")
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=release, check=True)
    (folder / "other").mkdir()
    with pytest.raises(CommandFailed):
        Key.made_in(folder / "other").verify(references[0])


def objects_of_all_kinds(site: Site) -> tuple[Object, ...]:
    """Beside the WALCluster, one of each kind. What runs on Spark waits for what is not declared, and says so."""
    whose: dict[str, Any] = {"clusterRef": {"name": "wal"}}
    source = {"source": {"clusterId": "q1Sh-9_ISia_zwGINzRvyQ"}, "target": {"latest": True}}
    specs: Mapping[str, Mapping[str, Any]] = {
        "WALPurgePolicy": {"interval": "1h", "suspend": True, "safety": FAST},
        "WALPurge": {"dryRun": True, "safety": FAST},
        "WALHold": {"topics": {"*": "earliest"}, "ttl": "24h"},
        "WALVerification": {"level": "Coverage"},
        "WALBackup": {},
        "WALBackupPolicy": {"schedule": "0 3 * * *", "suspend": True},
        "WALRestore": source,
        "WALSubscription": {"sink": {"mirror": {"target": "dr"}}, "lagBudget": {"maxBytes": "1Gi", "maxAge": "24h"}},
    }
    return tuple(
        {
            "apiVersion": "seawall.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": "live", "namespace": site.namespace},
            "spec": {**whose, **spec},
        }
        for kind, spec in specs.items()
    )


def live(site: Site) -> dict[str, tuple[Any, ...]]:
    """What of each object an upgrade must not change: its identity, what is declared, and what it came to."""
    found = {}
    for kind in KINDS:
        (one,) = items(site.namespace, kind.plural)
        status = one.get("status", {})
        conditions = {each["type"]: (each["status"], each["reason"]) for each in status.get("conditions", ())}
        came_to = status.get("state"), status.get("stage"), conditions.get("Ready")
        assert status.get("observedGeneration") == one["metadata"]["generation"], kind
        found[kind.kind] = (one["metadata"]["uid"], json.dumps(one["spec"], sort_keys=True), came_to)
    return found


def settled(site: Site) -> dict[str, tuple[Any, ...]]:
    """The same, once each object has been looked at."""

    def look() -> dict[str, tuple[Any, ...]] | None:
        try:
            found = live(site)
        except AssertionError:
            return None
        return found if all(came_to[2] for _, _, came_to in found.values()) else None

    return wait_until(look, "each object says how it is", explain=site.wal_cluster().explain)


@pytest.mark.timeout(3600)
def test_a_release_is_installed_from_a_registry_and_upgraded_to_and_back(
    site: Site, refdb_images: RefDbImages, pushed: str, tmp_path: Path
) -> None:
    key = Key.made_in(tmp_path)
    former = build_former(tmp_path / "former", pushed)
    newest = Tree.of_here(tmp_path / "newest" / "tree", NOW).build(
        tmp_path / "newest" / "release", pushed, **key.environment()
    )
    judge_signatures(newest, key, tmp_path)
    judge_sboms(newest)
    operators, scope = site.operator, ("scope.namespaces={" + site.namespace + "}", "settings.resyncSeconds=5")

    install_crds_from(pushed, former)
    install_operator_from(pushed, former, operators.namespace, *scope)
    wal = site.wal_cluster()
    wal.apply(site.pool(4, maxMessageBytes="16Ki"), dataPlane=in_sight(site.namespace))
    wal.wait("Ready")
    database = RefDb(site.namespace, refdb_images)
    database.start()
    database.execute("CREATE TABLE t (ts TIMESTAMP TIME INDEX, v DOUBLE)", "INSERT INTO t VALUES (1, 1.0), (2, 2.0)")
    purges = Purges(wal, operators)
    purges.purge_once("before")
    kubectl("-n", site.namespace, "delete", "walp", "before")
    apply(*objects_of_all_kinds(site))
    wait_until(lambda: purges.state("live") == "Active" and purges.completed(), "hold and run", explain=purges.explain)
    before = settled(site)
    print(json.dumps({kind: came_to for kind, (_, _, came_to) in before.items()}))
    topics, starts = sorted(site.topics()), site.log_starts()
    intents = read_intents(site.namespace, topics)
    assert intents.keys() == {*topics}

    def judge(of: str) -> None:
        wait_until(lambda: [operators.leader()] == operators.pods(), "the new pod leads, and is the only one")
        (pod,) = items(operators.namespace, "pods", labels="app.kubernetes.io/name=seawall")
        assert pod["spec"]["containers"][0]["image"].startswith(f"{pushed}/operator@sha256:")
        assert of in get(operators.namespace, "leases", "seawall")["metadata"]["annotations"].values()
        wal.wait("Ready")
        wait_until(lambda: settled(site) == before, f"with {of} all is as before", explain=lambda: settled(site))
        assert site.log_starts() == starts
        assert read_intents(site.namespace, topics) == intents

    judge(former)
    install_crds_from(pushed, NOW)
    judge(former)
    install_operator_from(pushed, NOW, operators.namespace, *scope)
    judge(NOW)
    install_operator_from(pushed, former, operators.namespace, *scope)
    judge(former)

    assert database.rows("SELECT v FROM t ORDER BY ts") == [[1.0], [2.0]]
    wal.apply(site.pool(5, maxMessageBytes="16Ki"), dataPlane=in_sight(site.namespace))
    wal.wait("Ready")
    site.wait_for_topics(5)
