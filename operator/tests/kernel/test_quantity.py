"""Byte quantities against the official client's parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity
from pydantic import TypeAdapter, ValidationError

from seawall.api.quantity import Bytes

BYTES: TypeAdapter[int] = TypeAdapter(Bytes)
SUFFIXES = ("", "k", "M", "G", "Ki", "Mi", "Gi")


@given(number=st.integers(0, 10**10 - 1), suffix=st.sampled_from(SUFFIXES))
def test_the_value_is_that_of_kubernetes(number: int, suffix: str) -> None:
    expected = int(parse_quantity(f"{number}{suffix}"))  # type: ignore[no-untyped-call]
    if 1 <= expected < 2**31:
        assert BYTES.validate_python(f"{number}{suffix}") == expected
    else:
        with pytest.raises(ValidationError):
            BYTES.validate_python(f"{number}{suffix}")


@pytest.mark.parametrize("value", ["", "1 Mi", "1.5Mi", "-1", "1Ti", "1mi", "1day", "0x10", 1.5, True, None])
def test_what_is_no_whole_quantity_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        BYTES.validate_python(value)
