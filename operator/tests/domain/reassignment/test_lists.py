"""What others had throttled, as it is kept beside a plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.partitions import Replica, ThrottledReplicas
from seawall.domain.reassignment.journal import Lists, UnreadableJournal, decode_lists, encode_lists

replicas = st.frozensets(st.builds(Replica, st.integers(0, 9), st.integers(0, 9)), max_size=4)
lists = st.dictionaries(
    st.text(alphabet="abc_.-7", min_size=1, max_size=9),
    st.builds(ThrottledReplicas, replicas, replicas, st.booleans(), st.booleans()),
    max_size=5,
)


@given(lists)
def test_what_is_written_is_read(found: Lists) -> None:
    assert decode_lists(encode_lists(found)) == found


def test_lists_of_ten_thousand_topics_are_small() -> None:
    one = ThrottledReplicas(frozenset({Replica(0, 1), Replica(0, 2)}), frozenset({Replica(0, 3)}))
    assert len(encode_lists({f"greptimedb_wal_topic_{number}": one for number in range(10_000)})) < 200_000


@pytest.mark.parametrize("data", [b"", b"x", encode_lists({"a": ThrottledReplicas()})[:-4]])
def test_what_is_damaged_is_not_guessed(data: bytes) -> None:
    with pytest.raises(UnreadableJournal, match="what others had throttled before the reassignment"):
        decode_lists(data)
