"""The operator may die at any time: what it decided is in the status, what it did is in Kafka."""

from __future__ import annotations

from seawall_e2e.armed import ArmedSignal
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until


def test_a_pool_becomes_ready_although_the_operator_is_killed_while_creating_it(site: Site) -> None:
    site.install()
    (pod,) = site.operator.pods()
    wal = site.wal_cluster()
    with ArmedSignal(site.operator.namespace, pod, "KILL") as kill:  # topics are created within a second or two
        wal.apply(site.pool(500))
        wal.wait("CreatingTopics", within=30)
        kill.fire()
    print(wal.explain())

    wait_until(lambda: site.operator.restarts() == 1, "the operator is started again", explain=site.operator.log)
    wal.wait("Ready", within=90)
    site.wait_for_topics(500)
    assert site.operator.restarts() == 1


def test_another_replica_goes_on_when_the_leaders_pod_is_removed_while_it_creates_topics(site: Site) -> None:
    site.install("replicas=2")
    leader = wait_until(site.operator.leader, "one leads", within=60)
    assert leader in site.operator.pods()
    wal = site.wal_cluster()
    wal.apply(site.pool(200))

    site.operator.remove(leader)

    wait_until(lambda: site.operator.leader() not in {None, leader}, "another leads", within=60)
    wal.wait("Ready", within=90)
    site.wait_for_topics(200)
    wal.apply(site.pool(201))
    wal.wait("Ready")
    site.wait_for_topics(201)
