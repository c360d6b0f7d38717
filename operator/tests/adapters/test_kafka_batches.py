"""How much goes into one request to Kafka."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from seawall.adapters.kafka.topic_answers import WRITE_RECORDS, batches, records_of_change, records_of_topic
from seawall.domain.kafka import ConfigChange, NewTopic


@given(st.lists(st.integers(1, 30)), st.integers(1, 40))
def test_batches_keep_all_in_order_within_the_limit_and_are_as_few_as_that_allows(
    weights: list[int], limit: int
) -> None:
    found = list(batches(weights, limit, lambda weight: weight))
    assert [weight for batch in found for weight in batch] == weights
    assert all(sum(batch) <= limit or len(batch) == 1 for batch in found)
    assert all(sum(batch) + after[0] > limit for batch, after in itertools.pairwise(found))


def test_a_thousand_wal_topics_need_two_requests() -> None:
    topics = [NewTopic(f"wal_{i}", 3, dict.fromkeys("abcdefgh", "1")) for i in range(1_000)]
    assert [len(batch) for batch in batches(topics, WRITE_RECORDS, records_of_topic)] == [500, 500]


def test_a_change_counts_each_config() -> None:
    assert records_of_change(ConfigChange("wal_0", {"retention.ms": "-1"}, ("segment.bytes", "flush.ms"))) == 3
