"""Replicas move all the time under a load, while brokers and operators die. Counts: results/reassignments.json."""

from __future__ import annotations

import time
from collections import Counter
from itertools import count
from typing import Any

import pytest

from seawall_e2e.cluster import BROKERS
from seawall_e2e.commands import kubectl
from seawall_e2e.extra_broker import extra_broker, registered_brokers
from seawall_e2e.faults import BrokerKilled, FaultLog
from seawall_e2e.operator_faults import LeadingPodCrashed
from seawall_e2e.reassignments import Reassignments
from seawall_e2e.site import Site
from seawall_e2e.soak import SECONDS, write_counts

COUNT = 6
RECORDS = 3_000
"""Of a kilobyte, in each topic."""
SLOWLY: dict[str, Any] = {"throttleBytesPerSecond": "1Mi", "maxConcurrentPartitions": 2}
FASTER: dict[str, Any] = {"throttleBytesPerSecond": "32Mi", "maxConcurrentPartitions": 3}


@pytest.mark.timeout(SECONDS + 900)
def test_replicas_move_all_the_time_and_no_acknowledged_record_is_lost(site: Site) -> None:
    site.install()
    moves, faults, ended = Reassignments(site), FaultLog(), Counter[str]()
    moves.declare(COUNT, 1, **SLOWLY)
    moves.wal.wait("Ready")
    with site.toolbox.loading(sorted(site.topics()), RECORDS) as load:
        began = time.monotonic()
        for number in count():
            ended += one_of_each(number, site, moves, faults)
            if time.monotonic() - began >= SECONDS:
                break
        fourth = a_fourth_broker_joins_and_goes(moves)
        ended += Counter(Raised=1, Expanded=1, Drained=1)
        seconds = time.monotonic() - began
    told = {**load, "failed": len(load["failed"])}
    counts = {"seconds": round(seconds), "faults": faults.counts, "runs": ended, "verifiedByKafka": moves.verified}
    write_counts("reassignments", {**counts, "fourthBroker": fourth, **told})
    assert (told["failed"], told["lost"]) == (0, 0)
    assert told["acknowledged"] > 0
    assert ended["Aborted"] == ended["Drained"] - 1 == number + 1


def one_of_each(number: int, site: Site, moves: Reassignments, faults: FaultLog) -> Counter[str]:
    """One round, from one replica of each topic back to one; each has other victims."""
    raise_while_a_broker_dies(number, site, moves, faults)
    lower_while_the_operator_dies(moves, site, faults)
    drain(number, moves)
    abort(moves)
    moves.declare(COUNT, 1, **FASTER)
    moves.wait(lambda: moves.factors() == {1}, "one replica of each is left")
    settle(moves)
    return Counter(Raised=1, Lowered=2, Drained=1, Aborted=1)


def raise_while_a_broker_dies(number: int, site: Site, moves: Reassignments, faults: FaultLog) -> None:
    """1 → 3; a broker is killed and the throttle changed while replicas are on their way."""
    moves.declare(COUNT, 3, **SLOWLY)
    moves.wait(moves.throttled, "a topic is moved")
    with faults.apply(BrokerKilled(site, number % BROKERS)):
        moves.declare(COUNT, 3, **FASTER)
    moves.wait(lambda: moves.factors() == {3}, "all have three replicas")
    settle(moves)


def lower_while_the_operator_dies(moves: Reassignments, site: Site, faults: FaultLog) -> None:
    """3 → 2; the operator is killed at once."""
    moves.declare(COUNT, 2, **FASTER)
    faults.run(LeadingPodCrashed(site.operator))
    moves.wait(lambda: moves.factors() == {2}, "all have two replicas")
    settle(moves)


def drain(number: int, moves: Reassignments) -> None:
    """A broker is emptied, and may come back."""
    gone = (number + 1) % BROKERS
    moves.declare(COUNT, 2, **FASTER, excludeBrokers=[gone])
    moves.wait(lambda: gone not in moves.brokers(), f"broker {gone} is drained")
    settle(moves)
    moves.declare(COUNT, 2, **FASTER)
    settle(moves)


def abort(moves: Reassignments) -> None:
    """2 → 3, aborted in mid-move: all have their replicas back."""
    before = moves.replicas()
    moves.declare(COUNT, 3, **SLOWLY)
    moves.wait(moves.throttled, "a topic is moved")
    annotation = "seawall.dev/abort-reassignment"
    annotate = ("-n", moves.wal.namespace, "annotate", "walc", moves.wal.name)
    kubectl(*annotate, f"{annotation}=soak")
    moves.wait(lambda: moves.run().get("stage") == "Aborted", "it is aborted")
    assert moves.replicas() == before
    moves.check()
    moves.declare(COUNT, 2, **FASTER)
    kubectl(*annotate, f"{annotation}-")
    settle(moves)


def a_fourth_broker_joins_and_goes(moves: Reassignments) -> dict[str, Any]:
    """It gets its share of all topics with three replicas, is drained, and is removed; what it had at its height."""
    on_expansion = {"rebalance": "OnExpansion"}
    moves.declare(COUNT, 3, **FASTER)
    moves.wait(lambda: moves.factors() == {3}, "all have three replicas")
    settle(moves)
    assert moves.brokers() == set(range(BROKERS))
    moves.declare(COUNT, 3, **SLOWLY, **on_expansion)
    with extra_broker() as broker:
        moves.wait(moves.throttled, "a topic is moved, and nobody has edited anything")
        moves.wait(lambda: has_share(moves, broker), f"broker {broker} has its share")
        settle(moves)
        had = {"replicas": moves.loads()[broker], "preferredLeaders": moves.preferred_leaders()[broker]}
        moves.declare(COUNT, 3, **FASTER, **on_expansion, excludeBrokers=[broker])
        moves.wait(lambda: moves.known_brokers().get(broker, {}).get("drained"), f"broker {broker} may be removed")
        moves.wait(lambda: is_told_drained(moves, broker), f"an event says that broker {broker} is drained")
        settle(moves)
        assert moves.brokers() == set(range(BROKERS))
    moves.declare(COUNT, 3, **FASTER)
    moves.wait(lambda: set(moves.known_brokers()) == set(range(BROKERS)), f"broker {broker} is known no more")
    settle(moves)
    assert registered_brokers() == dict.fromkeys(range(BROKERS), "unfenced")
    return had


def has_share(moves: Reassignments, broker: int) -> bool:
    """Whether replicas and preferred leaders are as even over four brokers as they can be, and the run has ended."""
    loads, leaders = moves.loads(), moves.preferred_leaders()
    is_even = all(
        len(found) == BROKERS + 1 and broker in found and max(found.values()) - min(found.values()) <= 1
        for found in (loads, leaders)
    )
    return is_even and loads.total() == 3 * COUNT and moves.run()["stage"] == "Completed"


def is_told_drained(moves: Reassignments, broker: int) -> bool:
    """Whether there is an event that this broker may be removed."""
    return any(f"broker {broker} " in event["message"] for event in moves.wal.events("BrokerDrained"))


def settle(moves: Reassignments) -> None:
    """All is as declared, no throttle is left, and Kafka agrees."""
    moves.wal.wait("Ready", within=240)
    moves.check()
