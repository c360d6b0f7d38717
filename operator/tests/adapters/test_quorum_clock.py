"""What the leader of the controllers tells of the others by its own clock, which may be set back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from seawall.adapters.kafka import raw_cluster
from seawall.domain.brokers.status import quorum_health
from seawall.domain.managed_kafka.found import KafkaAnswer
from seawall.domain.managed_kafka.staleness import why_stale
from seawall.domain.managed_kafka.volumes import is_heard
from seawall.domain.managed_kafka.voters import has_caught_up
from seawall.domain.partitions import Broker, BrokerState, Quorum

NOW = 1_700_000_000_000


def told(**last_heard: int) -> Quorum:
    """Controller 100 leads; of the others by when they last had all, before and after what its clock shows now."""
    ahead = {"leader": 0, **last_heard}
    nodes = [
        SimpleNamespace(
            replica_id=100 + number,
            log_end_offset=7,
            last_caught_up_timestamp=NOW + ahead[name],
            replica_directory_id=None,
        )
        for number, name in enumerate(ahead)
    ]
    answer = SimpleNamespace(error_code=0, error_message=None, leader_id=100, current_voters=nodes, observers=[])
    topics = [SimpleNamespace(partitions=[answer])]
    kafka: Any = SimpleNamespace(ask_any=lambda _: SimpleNamespace(error_code=0, error_message=None, topics=topics))
    return raw_cluster.quorum(kafka)


@pytest.mark.parametrize(
    ("ahead", "follows"), [(-2_000, True), (-2_001, False), (0, True), (1, False), (600_000, False)]
)
def test_who_was_heard_from_later_than_the_leaders_clock_shows_is_not_known_to_follow(
    ahead: int, *, follows: bool
) -> None:
    """Its clock was set back by ten minutes: whoever is silent since is as far ahead as whoever follows."""
    quorum = told(follower=ahead)
    leader, follower = quorum.voters
    assert has_caught_up(leader, quorum)
    assert has_caught_up(follower, quorum) == follows


def test_by_a_clock_that_was_set_back_no_broker_tells_what_is_so_now_and_no_disk_is_gone() -> None:
    quorum = told(follower=600_000)
    broker = Broker(101, None, BrokerState.ONLINE)
    assert why_stale(KafkaAnswer("id", {101: broker}, quorum, {})) is not None
    assert quorum_health(quorum).status == "False"
    assert is_heard(quorum.voters[1]), "an empty disk in its place would vote beside it"
