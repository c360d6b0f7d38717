"""Processes die, freeze and come back; the end is the same.

What only waits until a Lease or a silent watch ends is done side by side, each in a corner of its own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from seawall_e2e.loopback import ApiServer, KafkaProcesses, OperatorProcess
from seawall_e2e.waiting import wait_until
from tests.integration.conftest import NewOperator, corner_of_its_own, operators_of
from tests.support.proxy import FreezableProxy
from tests.support.site import Site

Measured = Callable[[str, object], None]

pytestmark = pytest.mark.integration


@pytest.fixture
def measured(record_property: Measured) -> Measured:
    """Notes a number for the summary at the end of the run."""
    return record_property


TAKEOVER_BOUND = 40
"""A Lease that is not renewed ends after 15 s."""
COUNTS = (100, 140, 180, 220)
"""What is declared at each start: so that every kill finds topics to create."""


def lease_holder(site: Site) -> str:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{site.namespace}/leases/seawall"
    found = site.kube.find(path)
    return str(found["spec"]["holderIdentity"]) if found else ""


def leaders(site: Site) -> list[OperatorProcess]:
    return [operator for operator in site.operators if operator.is_running() and operator.is_leader()]


def _count_topics(site: Site) -> int:
    return len(site.eyes.topics(site.prefix))


def start_two(site: Site, new_operator: NewOperator) -> tuple[OperatorProcess, OperatorProcess]:
    """A leader and its standby, with a pool that is ready."""
    leader, standby = new_operator("leader"), new_operator("standby")
    leader.start()
    site.wait(lambda: leaders(site) == [leader], "the first one leads")
    standby.start()
    site.declare()
    site.wait_ready()
    assert leaders(site) == [leader]
    assert standby.is_ready()
    return leader, standby


def test_kills_at_any_moment_of_a_large_creation_change_nothing_about_the_end(
    own_site: Site, new_operator: NewOperator, measured: Measured
) -> None:
    moments, recorded = random.Random(500), []  # noqa: S311 - the same moments each time
    operator = new_operator()
    own_site.declare(topics={"count": COUNTS[0], "config": {"flush.messages": 1000}}, config_map="wal")
    for count in COUNTS:
        own_site.edit(count=count)
        operator.start()
        before, given_up = _count_topics(own_site), time.monotonic() + moments.uniform(0.0, 3.0)
        while time.monotonic() < given_up and _count_topics(own_site) == before:
            time.sleep(0.01)  # a first new topic is as good a moment as any
        operator.kill()
        recorded.append(_count_topics(own_site))
    operator.start()
    found = own_site.wait_ready()
    measured("topics at each kill", recorded)
    names = [own_site.topic(index) for index in range(COUNTS[-1])]
    own_site.becomes(lambda: sorted(own_site.eyes.topics(own_site.prefix)), sorted(names))
    topics = own_site.eyes.topics(own_site.prefix)
    assert {len(topic.partitions) for topic in topics.values()} == {1}
    assert {len(topic.partitions[0].replicas) for topic in topics.values()} == {3}
    expected = wait_until(lambda: own_site.eyes.configs_if_known(names[0]), "its configs are known")
    assert expected["retention.ms"] == "-1"
    assert expected["flush.messages"] == "1000"
    own_site.becomes(lambda: own_site.eyes.configs(*names), dict.fromkeys(names, expected))
    assert found["status"]["topics"]["ready"] == COUNTS[-1]
    assert own_site.kube.find(own_site.core("configmaps", "wal")) is not None


def kill_the_leader(site: Site, new_operator: NewOperator, _: Path) -> float:
    leader, standby = start_two(site, new_operator)
    leader.kill()
    site.edit(count=3)
    seconds = site.wait(lambda: site.topic(2) in site.eyes.topics(site.prefix), "a topic", 40)
    site.wait_ready()
    assert leaders(site) == [standby]
    return seconds


def freeze_the_leader(site: Site, new_operator: NewOperator, _: Path) -> float:
    leader, standby = start_two(site, new_operator)
    leader.pause()
    seconds = site.wait(standby.is_leader, "the standby leads", TAKEOVER_BOUND)
    leader.resume()
    site.edit(count=3)
    site.wait_ready()
    site.wait(lambda: leaders(site) == [standby], "only the standby leads")
    assert lease_holder(site) == "standby"
    standby.kill()
    site.wait(leader.is_leader, "who was frozen leads again", TAKEOVER_BOUND)
    site.edit(count=4)
    site.wait(lambda: site.topic(3) in site.eyes.topics(site.prefix), "a topic of its second term")
    site.wait_ready()
    return seconds


def let_the_watch_die_silently(site: Site, new_operator: NewOperator, folder: Path) -> float:
    """Nothing closes the connections; they just carry nothing any more. No resync helps out."""
    server = site.kube.server
    with FreezableProxy(int(server.url.rsplit(":", 1)[1])) as proxy:
        operator = new_operator(kubeconfig=proxy.kubeconfig(server.kubeconfig, folder), resync_seconds=600)
        operator.start()
        site.declare()
        site.wait_ready()
        assert proxy.freeze() > 1, "the watch and at least one request went through the proxy"
        site.edit(count=3)
        seconds = site.wait(lambda: site.topic(2) in site.eyes.topics(site.prefix), "a topic")
        operator.terminate()
    return seconds


Story = Callable[[Site, NewOperator, Path], float]
SIDE_BY_SIDE: tuple[Story, ...] = (kill_the_leader, freeze_the_leader, let_the_watch_die_silently)


@pytest.fixture(scope="module")
def reported(
    api_server: ApiServer, kafka: KafkaProcesses, tmp_path_factory: pytest.TempPathFactory
) -> dict[Story, Future[float]]:
    """What became of each of them, once all have ended: none knows of the others."""

    def tell(story: Story, folder: Path) -> float:
        with corner_of_its_own(api_server, kafka) as site, operators_of(site) as new_operator:
            return story(site, new_operator, folder)

    with ThreadPoolExecutor(len(SIDE_BY_SIDE)) as pool:
        return {story: pool.submit(tell, story, tmp_path_factory.mktemp("story")) for story in SIDE_BY_SIDE}


def test_a_killed_leader_is_followed_by_its_standby(reported: dict[Story, Future[float]], measured: Measured) -> None:
    measured("takeover after kill -9", f"{reported[kill_the_leader].result():.1f} s")


def test_a_frozen_leader_that_wakes_up_does_not_act_beside_its_follower(
    reported: dict[Story, Future[float]], measured: Measured
) -> None:
    measured("takeover from a frozen leader", f"{reported[freeze_the_leader].result():.1f} s")


def test_an_edit_is_seen_although_the_watch_died_silently(
    reported: dict[Story, Future[float]], measured: Measured
) -> None:
    measured("edit while the watch is dead → topic in Kafka", f"{reported[let_the_watch_die_silently].result():.1f} s")


def test_a_stopped_leader_gives_its_lease_back_at_once(
    own_site: Site, new_operator: NewOperator, measured: Measured
) -> None:
    leader, standby = start_two(own_site, new_operator)
    started = time.monotonic()
    leader.terminate()
    ended = time.monotonic() - started
    assert lease_holder(own_site) in {"", "standby"}
    own_site.wait(standby.is_leader, "the standby leads")
    measured("SIGTERM", f"ended after {ended:.1f} s, followed after {time.monotonic() - started:.1f} s")
    own_site.edit(count=3)
    own_site.wait_ready()


def test_an_edit_is_acted_on_soon(own_site: Site, new_operator: NewOperator, measured: Measured) -> None:
    operator = new_operator(resync_seconds=600)
    operator.start()
    own_site.declare()
    own_site.wait_ready()
    own_site.edit(count=3)
    seconds = own_site.wait(lambda: own_site.topic(2) in own_site.eyes.topics(own_site.prefix), "a topic")
    measured("edit → topic in Kafka", f"{seconds:.2f} s")
    measured("resident set", f"{operator.memory_megabytes():.0f} MB")


def test_an_edit_is_acted_on_after_the_api_server_was_restarted(
    own_site: Site, new_operator: NewOperator, api_server: ApiServer, measured: Measured
) -> None:
    operator = new_operator(resync_seconds=600)
    operator.start()
    own_site.declare()
    own_site.wait_ready()
    api_server.restart()
    own_site.edit(count=3)
    seconds = own_site.wait(lambda: own_site.topic(2) in own_site.eyes.topics(own_site.prefix), "a topic")
    measured("edit after a restart of the API server → topic in Kafka", f"{seconds:.1f} s")
    found = own_site.wait_ready()
    assert found["status"]["topics"]["ready"] == 3
    assert operator.is_running()


def test_a_leader_that_cannot_renew_its_lease_stops_acting_and_goes_on_later(
    own_site: Site, new_operator: NewOperator, api_server: ApiServer, measured: Measured
) -> None:
    operator = new_operator()
    operator.start()
    own_site.declare()
    own_site.wait_ready()
    api_server.pause()
    try:
        seconds = own_site.wait(lambda: not operator.is_leader(), "it knows that it does not lead", TAKEOVER_BOUND)
        measured("API server frozen → stopped leading", f"{seconds:.1f} s")
        own_site.eyes.alter(own_site.topic(0), {"segment.bytes": "1048576"})
        time.sleep(7)  # two resyncs
        assert own_site.eyes.config(own_site.topic(0))["segment.bytes"] == "1048576"
        assert operator.is_running()
    finally:
        api_server.resume()
    own_site.wait(lambda: own_site.eyes.config(own_site.topic(0))["segment.bytes"] == "67108864", "it acts again")
    assert operator.is_leader()
    own_site.edit(count=3)
    own_site.wait_ready()
