"""A purge with everything real: rows stay readable after their records are gone, and whatever must stop it does.

The stories mostly wait for graces, so they are told side by side, each of a database and a WALCluster of its own, and
all of one operator: one that starts watches for one openGrace first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from refdb.meta import keys
from refdb.meta.etcd import Etcd
from refdb.meta.values import Peer, TableRoute
from seawall.domain.ledger.shards import NAME_PREFIX
from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.loopback.refdb_access import RefDbAccess
from seawall_e2e.waiting import wait_until
from tests.contract.test_data_plane_contract import before_refdb
from tests.support.contract_facade import served, serving
from tests.support.kube import OBJECTS, KubeClient, Object
from tests.support.local_verification import verify_on_this_machine
from tests.support.site import Site, condition, new_site
from tests.support.spark import SparkOperatorRole, install_spark_crd
from tests.support.typed import typed

pytestmark = pytest.mark.integration

RUN_SECONDS = 180.0
"""A run waits two graces of 13 s, on a machine that may be busy."""
ROWS = 20


def key_of(number: int) -> str:
    """The key of a row: even ones are in the first region, odd ones in the second."""
    return f"k{1 + number % 2}-{number}"


@dataclass
class Purged:
    """A database whose WAL a WALCluster keeps small, and the rows that it acknowledged."""

    site: Site
    database: RefDbProcesses
    rows: int = 0
    runs: int = 0
    store: Etcd | None = None
    """Its metadata store, where that is an etcd."""

    def write(self) -> None:
        """Writes rows, one a record, as many into each region."""
        for number in range(self.rows, self.rows + ROWS):
            self.database.write(f"INSERT INTO t(ts, k) VALUES ({number}, '{key_of(number)}')")  # noqa: S608 - numbers
        self.rows += ROWS

    def log_starts(self) -> dict[str, int]:
        """Where the logs start."""
        return self.site.eyes.log_starts(f"wal_{self.database.prefix}")

    def missing(self) -> set[str]:
        """Acknowledged rows that the database does not have."""
        found = {row[0] for row in self.database.rows("SELECT k FROM t")}
        return {key_of(number) for number in range(self.rows)} - found

    def run(self, **spec: object) -> Object:
        """Makes a run by hand and waits for its end."""
        self.runs += 1
        return run_by_hand(self.site, f"by-hand-{self.runs}", **spec)


def run_by_hand(site: Site, name: str, **spec: object) -> Object:
    """Makes a run and waits for its end."""
    start_run(site, name, **spec)
    return wait_for_run(site, name, *OVER)


def start_run(site: Site, name: str, **spec: object) -> None:
    """Makes a run."""
    body = {
        "apiVersion": "seawall.dev/v1alpha1",
        "kind": "WALPurge",
        "metadata": {"name": name},
        "spec": {
            "clusterRef": {"name": "wal"},
            "flush": {"whenBehindEntries": 1, "timeout": "20s"},
            "safety": {"staleAfter": "3s", "openGrace": "13s"},
            **spec,
        },
    }
    site.kube.create(OBJECTS.format(site.namespace, "walpurges"), body)


OVER = ("Completed", "Failed")


def wait_for_run(site: Site, name: str, *stages: str) -> Object:
    """Waits until a run is in one of these stages."""
    path = f"{OBJECTS.format(site.namespace, 'walpurges')}/{name}"

    def is_there() -> Object | None:
        found = site.kube.request("GET", path)
        return found if found.get("status", {}).get("stage") in stages else None

    def explain() -> str:
        status = json.dumps(site.kube.request("GET", path).get("status"), indent=1)
        return f"{status}\n{site.operators[0].log()[-4000:]}"

    return wait_until(is_there, f"run {name} is {' or '.join(stages)}", within=RUN_SECONDS, explain=explain)


@pytest.fixture
def purged_cluster(
    kube: KubeClient, kafka: KafkaProcesses, etcd: EtcdProcess, operator: OperatorProcess
) -> Callable[..., AbstractContextManager[Purged]]:
    """Makes databases on two datanodes, with a table of two regions and a WALCluster: Seawall moves the markers."""

    @contextmanager
    def make(
        access: RefDbAccess | None = None, *, by_contract: bool = False, flags: tuple[str, ...] = (), datanodes: int = 2
    ) -> Iterator[Purged]:
        with ExitStack() as stack:
            made = RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=datanodes, access=access, flags=flags)
            database = stack.enter_context(made)
            url = stack.enter_context(serving(served(before_refdb(database)))) if by_contract else None
            site = new_site(kube, kafka, operator)
            try:
                make_pool_and_table(site, database, url)
                yield Purged(site, database, store=Etcd(etcd.url, f"{database.prefix}/"))
            finally:
                site.clear()

    return make


def make_pool_and_table(site: Site, database: RefDbProcesses, contract: str | None = None) -> None:
    """Declares the WALCluster, and makes a table of two regions; `contract`: the URL of a facade."""
    for name, values in {} if database.access is None else database.access.secrets().items():
        site.make_secret(name, **values)
    database_of = (
        {"greptimedb": database.declared(autoPrune="Disabled")} if contract is None else {"http": {"url": contract}}
    )
    site.declare(topics={"prefix": f"wal_{database.prefix}", "replicationFactor": 1}, **database_of)
    site.wait_ready()
    answer = database.sql(
        "CREATE TABLE t (ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k)) PARTITION BY RANGE COLUMNS (k)"
        ' (PARTITION a VALUES LESS THAN ("k2"), PARTITION b VALUES LESS THAN (MAXVALUE))'
    )
    assert "code" not in answer, answer


def skipped(run: Object) -> dict[str, str]:
    return {one["topic"]: one["reason"] for one in run["status"].get("skipped", [])}


def annotate(purged: Purged, stop_deletes: str | None) -> None:
    annotations = {"seawall.dev/stop-deletes": stop_deletes}
    purged.site.kube.merge(purged.site.path(), {"metadata": {"annotations": annotations}})


def hold(purged: Purged, topics: Object) -> None:
    path = OBJECTS.format(purged.site.namespace, "walholds")
    body = {
        "apiVersion": "seawall.dev/v1alpha1",
        "kind": "WALHold",
        "metadata": {"name": "spark"},
        "spec": {"clusterRef": {"name": "wal"}, "topics": topics},
    }
    purged.site.kube.create(path, body)


def purge_something(purged: Purged) -> int:
    """Entries that a run deletes: the first, or one of the next two, where a flush is late, as on a busy machine."""
    for _ in range(3):
        purged.write()
        run = purged.run()
        assert run["status"]["stage"] == "Completed", run["status"]
        if run["status"]["entriesDeleted"]:
            break
    return int(run["status"]["entriesDeleted"])


def shrink(purged: Purged) -> None:
    first = purged.log_starts()
    for _ in range(3):  # a flush that is late, as on a busy machine, leaves its topic to the next run
        purged.write()
        before = purged.log_starts()
        run = purged.run()
        assert run["status"]["stage"] == "Completed", run["status"]
        after = purged.log_starts()
        assert run["status"]["topics"]["purged"] == sum(after[topic] > before[topic] for topic in before), run["status"]
        assert run["status"]["entriesDeleted"] == sum(after.values()) - sum(before.values())
        assert condition(run, "Complete")["status"] == "True"
        if all(after[topic] > first[topic] for topic in first):
            break
    assert all(after[topic] > first[topic] for topic in first), run["status"]


def restart(purged: Purged) -> None:
    """Every row is still there after both datanodes were killed, and those written since replay."""
    for index, datanode in enumerate(purged.database.datanodes):
        datanode.kill()
        purged.database.start_datanode(index)
    assert purged.missing() == set()
    purged.write()
    for index, datanode in enumerate(purged.database.datanodes):
        datanode.kill()
        purged.database.start_datanode(index)
    assert purged.missing() == set(), "rows written after the purge replay from the log that is left"


def stop_by_annotation(purged: Purged) -> None:
    purged.write()
    before = purged.log_starts()
    annotate(purged, "incident 7")
    run = purged.run()
    assert set(skipped(run).values()) == {"StoppedByAnnotation"}, run["status"]
    assert purged.log_starts() == before
    annotate(purged, None)


def stop_by_hold(purged: Purged) -> None:
    purged.write()
    before = purged.log_starts()
    hold(purged, dict(before))
    run = purged.run()
    assert run["status"]["stage"] == "Completed", run["status"]
    assert run["status"]["entriesDeleted"] == 0
    assert run["status"]["topics"]["purged"] == 0, run["status"]
    assert purged.log_starts() == before
    purged.site.kube.delete(f"{OBJECTS.format(purged.site.namespace, 'walholds')}/spark")
    assert purge_something(purged)
    assert purged.missing() == set()


def declare_verifications(purged: Purged) -> None:
    """What Spark would run, if it were there."""
    install_spark_crd(purged.site.kube)
    purged.site.kube.create(purged.site.core("serviceaccounts"), {"metadata": {"name": "driver"}})
    declared = {"spark": {"image": "replay-verification:1", "serviceAccountName": "driver"}}
    purged.site.kube.merge(purged.site.path(), {"spec": {"verification": declared}})


def verified(purged: Purged) -> Object:
    """A verification that a person asked for, and followed to its end; the test plays Spark Operator and job."""
    kube, namespace = purged.site.kube, purged.site.namespace
    paths = {plural: OBJECTS.format(namespace, plural) for plural in ("walverifications", "walholds")}
    role = SparkOperatorRole(kube, namespace)

    def explain() -> str:
        found = [kube.request("GET", path)["items"] for path in paths.values()]
        return f"{json.dumps(found, indent=1)}\n{purged.site.operators[0].log()[-4000:]}"

    with typed(purged.site, "verify", "wal", "--level", "Coverage", "--wait") as command:
        (application,) = wait_until(
            role.applications, "a SparkApplication is made", within=RUN_SECONDS, explain=explain
        )
        (hold_there,) = kube.request("GET", paths["walholds"])["items"]
        assert condition(hold_there, "Granted")["status"] == "True", "before the job begins"
        role.pass_all(application["metadata"]["name"])
        wait_until(command.is_over, "the command has seen the end", within=RUN_SECONDS, explain=explain)
        first, *_, last = command.lines()
    found: Object
    (found,) = kube.request("GET", paths["walverifications"])["items"]
    assert (first, last) == (f"walverification/{found['metadata']['name']} created", "Completed: all topics replay")
    assert (found["spec"]["level"], found["status"]["stage"]) == ("Coverage", "Completed")
    assert kube.request("GET", paths["walholds"])["items"] == []
    return found


def begin_to_verify(purged: Purged) -> SparkOperatorRole:
    """Asks for a verification; its job is made, and may read."""
    kube, namespace = purged.site.kube, purged.site.namespace
    declare_verifications(purged)
    body = {
        "apiVersion": "seawall.dev/v1alpha1",
        "kind": "WALVerification",
        "metadata": {"name": "check"},
        "spec": {"clusterRef": {"name": "wal"}},
    }
    kube.create(OBJECTS.format(namespace, "walverifications"), body)
    role = SparkOperatorRole(kube, namespace)
    wait_until(role.applications, "a job is made", within=RUN_SECONDS, explain=lambda: verification_of(purged))
    return role


def end_to_verify(purged: Purged, role: SparkOperatorRole) -> Object:
    """The job finds nothing wrong; the status of the verification then."""
    role.pass_all("check-1")
    path = f"{OBJECTS.format(purged.site.namespace, 'walverifications')}/check"

    def over() -> Object | None:
        found = purged.site.kube.request("GET", path)
        return found if found.get("status", {}).get("stage") in OVER else None

    what = "the verification is over"
    found = wait_until(over, what, within=RUN_SECONDS, explain=lambda: verification_of(purged))
    status: Object = found["status"]
    assert status["stage"] == "Completed", status
    return status


def verification_of(purged: Purged) -> str:
    """What explains that it does not go on."""
    paths = (OBJECTS.format(purged.site.namespace, plural) for plural in ("walverifications", "walholds"))
    found = [purged.site.kube.request("GET", path)["items"] for path in paths]
    return f"{json.dumps(found, indent=1)}\n{purged.site.operators[0].log()[-4000:]}"


def wait_for_a_verification(purged: Purged) -> None:
    """Only what lies before the start of a verification goes."""
    purged.write()
    declare_verifications(purged)
    verification = verified(purged)
    required = {"safety": {"staleAfter": "3s", "openGrace": "13s", "requireVerification": {"level": "Coverage"}}}
    starts = {row["name"]: row["verifiedFrom"] for row in verification["status"]["topics"] if row["verified"]}
    before = purged.log_starts()
    assert starts.keys() == before.keys()
    licensed = {topic: max(starts[topic], before[topic]) for topic in before}
    for _ in range(3):  # a flush that is late, as on a busy machine, leaves its topic to the next run
        purged.write()
        run = purged.run(**required)
        assert run["status"]["stage"] == "Completed", run["status"]
        now = purged.log_starts()
        assert all(now[topic] <= licensed[topic] for topic in now), run["status"]
        if now == licensed:
            break
    assert now == licensed, run["status"]
    where = OBJECTS.format(purged.site.namespace, "walverifications")
    purged.site.kube.delete(f"{where}/{verification['metadata']['name']}")
    run = purged.run(**required)
    assert set(skipped(run).values()) == {"VerificationMissing"}, run["status"]
    assert purged.missing() == set()


def verify_here(purged: Purged) -> None:
    """With a real Spark: each row that is only in the log would come back. Nothing is held afterwards."""
    purged.write()
    reported, report = verify_on_this_machine(purged.site, within=2 * RUN_SECONDS)
    assert "granted on 2 topics" in reported
    assert "Passed: Integrity of 2 topics is proved" in reported
    assert report["outcome"] == "Passed"
    assert sum(region["rows"] for region in report["regions"]) == ROWS
    for plural in ("walverifications", "walholds"):
        assert purged.site.kube.request("GET", OBJECTS.format(purged.site.namespace, plural))["items"] == []


def begin_by_size(purged: Purged) -> None:
    """A policy without any times begins a run because a topic is larger than it says, and can be purged."""
    purged.write()
    # Else the run would come after ten graces, in case a flush helps.
    assert "code" not in purged.database.sql("ADMIN flush_table('t')")
    before = purged.log_starts()
    policies, runs = (OBJECTS.format(purged.site.namespace, plural) for plural in ("walpurgepolicies", "walpurges"))
    body = {
        "apiVersion": "seawall.dev/v1alpha1",
        "kind": "WALPurgePolicy",
        "metadata": {"name": "by-size"},
        "spec": {
            "clusterRef": {"name": "wal"},
            "trigger": {"topicBytes": 1},
            "flush": {"whenBehindEntries": 1, "timeout": "20s"},
            "safety": {"staleAfter": "3s", "openGrace": "13s"},
        },
    }
    purged.site.kube.create(policies, body)

    def shrunk() -> Object | None:
        found = purged.site.kube.request("GET", runs)["items"]
        own = [run for run in found if run["metadata"]["name"].startswith("by-size-")]
        return next((run for run in own if run.get("status", {}).get("entriesDeleted")), None)

    def explain() -> str:
        found = [purged.site.kube.request("GET", path)["items"] for path in (policies, runs)]
        return f"{json.dumps(found, indent=1)}\n{purged.site.operators[0].log()[-4000:]}"

    wait_until(shrunk, "a topic's size begins a run that shrinks it", within=RUN_SECONDS, explain=explain)
    purged.site.kube.delete(f"{policies}/by-size")
    its_operator, labels = purged.site.operators[0], f'{{name="wal",namespace="{purged.site.namespace}"}}'
    assert its_operator.metric(f"seawall_purge_deleted_entries_total{labels}"), "the metrics tell of it"
    wait_until(
        lambda: its_operator.metric(f"seawall_wal_intact{labels}") == 1, "the metrics tell that the WAL is intact"
    )
    page = f"/plan/{purged.site.namespace}/wal"
    plan = json.loads(
        wait_until(lambda: its_operator.page(purged.site.with_key(page)), "the operator tells what a run would do")
    )
    assert {line["name"] for line in plan["topics"]} == before.keys()
    after = purged.log_starts()
    assert any(after[topic] > before[topic] for topic in before)
    assert purged.missing() == set()


def lose_a_hold(purged: Purged) -> None:
    """What somebody else deletes ends a grant when the ledger is looked at; a hold by itself looks once a minute."""
    purged.write()
    assert "code" not in purged.database.sql("ADMIN flush_table('t')")
    starts, site = purged.log_starts(), purged.site
    hold(purged, dict(starts))
    path = f"{OBJECTS.format(site.namespace, 'walholds')}/spark"

    def becomes(kind: str) -> Object:
        def look() -> Object | None:
            found = site.kube.request("GET", path)
            return found if condition(found, kind).get("status") == "True" else None

        return wait_until(look, f"the hold is {kind}", explain=lambda: site.explain(site.kube.request("GET", path)))

    granted = becomes("Granted")
    assert condition(granted, "ExpiryJudged")["reason"] == "ClocksAgree", "the API server's answers tell its time"
    first = min(starts)
    site.eyes.delete_records({first: starts[first] + 1})
    lost = becomes("Lost")
    assert condition(lost, "Granted")["status"] == "False"
    assert f"{first} starts at {starts[first] + 1}" in condition(lost, "Lost")["message"]
    assert purged.missing() == set()


def count_followers(purged: Purged) -> None:
    """A follower is shown, and one that says nothing keeps its topic, unless followers do not count."""
    site, database, store = purged.site, purged.database, purged.store
    assert store is not None
    region, leader = min(database.rows("SELECT region_id, peer_id FROM information_schema.region_peers"))
    assert "code" not in database.sql(f"ADMIN add_region_follower({region}, {1 - leader})")

    def follows(count: int, silent: int | None) -> None:
        def shown() -> bool:
            found = site.read()["status"].get("dataPlane", {})
            return (found.get("followers"), found.get("silentFollowers")) == (count, silent)

        what = f"{count} followers are shown, {silent or 0} of them silent"
        wait_until(shown, what, within=RUN_SECONDS, explain=lambda: site.explain(site.read()))

    follows(1, None)
    held = store.get(keys.table_route(region >> 32))
    route = TableRoute.from_text(held.value)
    nobody = replace(route.of(region), followers=(*route.of(region).followers, Peer(9, "nobody:4001")))
    assert store.txn([held], {held.key: route.with_region(nobody).to_text()})
    follows(2, 1)
    before = {**skipped(purged.run(dryRun=True))}
    assert list(before.values()).count("FollowerMissing") == 1, before
    margins = {"staleAfter": "3s", "openGrace": "13s", "countFollowers": False}
    assert "FollowerMissing" not in skipped(purged.run(dryRun=True, safety=margins)).values()
    for datanode in (9, 1 - leader):
        assert "code" not in database.sql(f"ADMIN remove_region_follower({region}, {datanode})")


def lose_the_intents(purged: Purged) -> None:
    """Somebody deletes the operator's ConfigMaps: no record goes until a person says that all is right."""
    purged.write()
    site, before = purged.site, purged.log_starts()
    gone = [each["metadata"]["name"] for each in site.kube.request("GET", site.core("configmaps"))["items"]]
    gone = [name for name in gone if name.startswith(NAME_PREFIX)]
    assert gone
    for name in gone:
        site.kube.delete(site.core("configmaps", name))
    run = purged.run()
    assert set(skipped(run).values()) == {"IntentsLost"}, run["status"]
    assert purged.log_starts() == before
    readopt = ("readopt", "wal", "--yes", "--operator", "default/seawall")
    with typed(site, *readopt, "--reason", "nobody deletes") as said:
        said.lines()
    assert purge_something(purged)  # evidence begins anew
    assert purged.missing() == set()
    with typed(site, *readopt, "--undo") as said:
        said.lines()


def leaders(purged: Purged) -> list[int]:
    """Who leads the regions, in order."""
    peers = purged.database.rows("SELECT region_id, peer_id FROM information_schema.region_peers ORDER BY region_id")
    return [peer for _, peer in peers]


def fail_over(purged: Purged) -> None:
    """A datanode dies while a run waits for reports, a job reads and a hold stands: its region moves, all goes on."""
    purged.write()
    site, database, starts = purged.site, purged.database, purged.log_starts()
    held, free = sorted(starts)
    hold(purged, {held: starts[held]})
    role = begin_to_verify(purged)
    start_run(site, "meanwhile")
    wait_for_run(site, "meanwhile", "Verification", "Purge", *OVER)
    dies = leaders(purged)[0]
    database.datanodes[dies].kill()
    wait_until(lambda: dies not in leaders(purged), "its region is led elsewhere", within=RUN_SECONDS)
    end_to_verify(purged, role)
    run = wait_for_run(site, "meanwhile", *OVER)
    assert run["status"]["stage"] == "Completed", run["status"]
    for _ in range(3):  # as above: the first look after a failover may wait for reports of the new leader
        purged.write()
        run = purged.run()
        if purged.log_starts()[free] > starts[free]:
            break
    assert purged.log_starts()[free] > starts[free], run["status"]
    assert purged.log_starts()[held] == starts[held]
    kept = site.kube.request("GET", f"{OBJECTS.format(site.namespace, 'walholds')}/spark")
    assert condition(kept, "Granted")["status"] == "True", kept["status"]
    restart(purged)


def lose_a_topic(purged: Purged) -> None:
    """A topic that is lost is not made again; one that somebody makes again all the same is left alone."""
    site, first = purged.site, f"wal_{purged.database.prefix}_0"
    site.eyes.delete(first)
    assert first in site.wait_stalled("TopicLost")
    damage = site.wait_for("WALIntact", "False")
    assert first in condition(damage, "WALIntact")["message"]
    site.eyes.create(first, replication_factor=1)

    def is_noticed() -> bool:
        said = condition(site.read(), "WALIntact")
        return said["reason"] in {"IdentityFenceBroken", "LogStartBeyondReplay"}

    wait_until(is_noticed, "the ledger has met the new topic", explain=lambda: site.explain(site.read()))
    run = purged.run()
    assert skipped(run).get(first) in {"IdentityFenceBroken", "LogStartBeyondReplay"}, run["status"]
    assert purged.log_starts()[first] == 0


def delete_what_is_in_use(purged: Purged) -> None:
    """Topics that the database writes to do not go with their WALCluster; Retain lets the object go."""
    site, before = purged.site, purged.log_starts()
    site.edit(deletionPolicy="Delete")
    site.wait(lambda: bool(site.read()["metadata"].get("finalizers")), "the finalizer stands")
    site.delete()
    assert "2 regions of the database still write to" in site.wait_stalled("TopicsInUse")
    assert purged.log_starts().keys() == before.keys()
    site.edit(deletionPolicy="Retain")
    site.wait_gone()
    assert purged.log_starts().keys() == before.keys()


FAILS_OVER = ("--lease=2", "--dead-after=4", "--enable-region-failover=true")
Story = tuple[dict[str, Any], tuple[Callable[[Purged], None], ...]]
"""What a database is, and what happens to it."""
STORIES: tuple[Story, ...] = (
    ({}, (stop_by_hold, verify_here)),
    ({}, (shrink, restart, begin_by_size, delete_what_is_in_use)),
    ({}, (shrink, lose_the_intents, lose_a_hold)),
    ({}, (stop_by_annotation, count_followers, wait_for_a_verification, lose_a_topic)),
    ({"flags": FAILS_OVER, "datanodes": 3}, (fail_over,)),
)
"""The longest first."""
BY_CONTRACT: Story = ({"by_contract": True}, (shrink, restart))
"""Of mode B: the database is reached by a facade alone."""


# In every run, test_any_database.py purges a database by the contract, and worlds purge this one by it.
@pytest.mark.parametrize(
    "stories", [STORIES, pytest.param((BY_CONTRACT,), marks=pytest.mark.soak)], ids=["greptimedb", "contract"]
)
def test_a_purge_shrinks_topics_and_loses_no_row_and_whatever_must_stop_it_does(
    purged_cluster: Callable[..., AbstractContextManager[Purged]],
    stories: Sequence[Story],
) -> None:
    def tell(how: dict[str, Any], story: tuple[Callable[[Purged], None], ...]) -> None:
        with purged_cluster(**how) as purged:
            for part in story:
                part(purged)

    with ThreadPoolExecutor(len(stories)) as pool:
        for reported in [pool.submit(tell, *story) for story in stories]:
            reported.result()
