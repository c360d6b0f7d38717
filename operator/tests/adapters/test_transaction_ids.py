"""PostgreSQL shows 32 bits of a row's transaction id."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.adapters.greptimedb.postgresql import full_xid

AROUND = 2**32


@given(before=st.integers(4, 2**62), age=st.integers(1, 2**32))
def test_a_row_of_the_last_four_thousand_million_transactions_has_its_own_id(before: int, age: int) -> None:
    if age < before:
        assert full_xid((before - age) % AROUND, before) == before - age


@given(before=st.integers(4, 2**62), age=st.integers(1, 2**40))
def test_an_older_row_never_looks_older_than_it_is(before: int, age: int) -> None:
    """Else a region would not stop the marker that it must stop."""
    if age < before:
        assert before > full_xid((before - age) % AROUND, before) >= before - age


@pytest.mark.parametrize(("xid", "before"), [(900, 800), (AROUND - 1, 5)])
def test_a_row_that_no_transaction_can_have_written_counts_as_new(xid: int, before: int) -> None:
    """Somebody has reset the server's counter."""
    assert full_xid(xid, before) >= before
