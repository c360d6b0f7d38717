"""While drivers of a mirror and brokers of its target are killed, the source keeps all that the target lacks.

The operator, both Kafkas, the database and the application's code are real. The hold moves every half minute, so it
takes some: `pytest -m soak` (make e2e-soak), FAULT_SECONDS=150 long. That a sample can find something is seen always.
"""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

from seawall_e2e.waiting import wait_until
from tests.integration.test_a_database_goes_on_with_its_mirror import Mirrored, mirrored
from tests.support.held import (
    SECONDS,
    Drivers,
    Sampler,
    ends_if_known,
    hold_of,
    judge,
    request_of,
    wait_for_moves,
)
from tests.support.kafka import KafkaEyes
from tests.support.records import produce
from tests.support.site import Site

__all__ = ["mirrored"]

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3_000)]
ACKNOWLEDGED, LOOK_SECONDS = 3, 3.0


def test_a_hold_that_is_ahead_is_found(own_site: Site) -> None:
    """Nobody but the test moves it: no operator is there."""
    topic, eyes = own_site.topic(0), own_site.eyes
    eyes.create(topic)
    produce(own_site.kafka.bootstrap_servers, {topic: ACKNOWLEDGED})
    path = hold_of(own_site, "dr")
    spec = {"clusterRef": {"name": "wal"}, "topics": {topic: ACKNOWLEDGED}}
    body = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALHold", "metadata": {"name": "dr"}, "spec": spec}
    own_site.kube.create(path.removesuffix("/dr"), body)
    sampler = Sampler(own_site.kube, path, lambda: ends_if_known(eyes, own_site.prefix))
    sampler.once()
    assert (sampler.samples, sampler.wrong) == (1, [])
    own_site.kube.merge(path, {"spec": {"topics": {topic: ACKNOWLEDGED + 1}}})
    sampler.once()
    ahead = {topic: (ACKNOWLEDGED + 1, ACKNOWLEDGED)}
    (found,) = sampler.wrong
    assert f"held from, and where the sink ends: {ahead}" in found
    own_site.kube.merge(path, {"spec": {"topics": {topic: ACKNOWLEDGED}}})
    own_site.kube.merge(f"{path}/status", {"status": {"granted": {topic: ACKNOWLEDGED + 1}}})
    sampler.once()
    assert sampler.wrong[1:] == sampler.wrong[:1], "what was granted counts, too"


def harm(mirrored: Mirrored, drivers: Drivers, chance: random.Random) -> None:
    """One fault."""
    number = chance.randrange(2)
    match chance.choice(("kill", "kill", "kill", "freeze", "freeze", "broker")):
        case "kill":
            drivers.kill(number)
        case "freeze":
            drivers.freeze(number, chance.uniform(0.2, 2.0))
        case _:
            broker = chance.randrange(len(mirrored.target.bootstrap_servers))
            mirrored.target.kill(broker)
            time.sleep(chance.uniform(0.5, 2.0))
            mirrored.target.start(broker)
            drivers.counts["brokers killed"] += 1


@pytest.mark.soak
def test_a_hold_is_never_ahead_of_what_the_target_stores(mirrored: Mirrored, tmp_path: Path) -> None:
    mirrored.subscribe(replicas=3)
    site, prefix = mirrored.site, f"wal_{mirrored.database.prefix}"
    # One: each is a client with threads of its own. It asks soon again: what happens meanwhile is what matters.
    eyes = KafkaEyes(mirrored.target.bootstrap_servers, timeout=LOOK_SECONDS)
    sampler = Sampler(site.kube, hold_of(site, "dr"), lambda: ends_if_known(eyes, prefix))
    drivers, chance = Drivers(request_of(site, "dr", tmp_path, mirrored.explain)), random.Random(5)  # noqa: S311 - faults
    drivers.start()
    drivers.start()
    end = time.monotonic() + SECONDS
    try:
        with sampler.looks():
            for turn in itertools.count():
                mirrored.write(f"r{turn}-")
                harm(mirrored, drivers, chance)
                if time.monotonic() > end:
                    break

            def is_even() -> bool:
                ours = ends_if_known(eyes, prefix)
                return ours is not None and site.eyes.log_ends(prefix) == ours

            wait_until(is_even, "all is copied", within=180, explain=mirrored.explain)
            wait_for_moves(sampler)
    finally:
        drivers.close()
    assert {len(topic.partitions[0].replicas) for topic in eyes.topics(prefix).values()} == {3}
    rows = sum(len(keys) for keys in mirrored.written.values())
    judge("holds", {"mirror": sampler}, {**drivers.counts, "rows": rows})
