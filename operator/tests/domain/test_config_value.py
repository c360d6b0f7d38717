"""Which texts are one config value to Kafka; the values are those that a 4.3.1 broker changed."""

import pytest

from seawall.domain.topics.pool import is_same_value


@pytest.mark.parametrize(
    ("declared", "kept"),
    [("TRUE", "true"), (" 5", "5"), ("+007", "7"), ("0.50", "0.5"), ("-0", "0"), ("a, b", "a,b"), ("delete", "delete")],
)
def test_what_kafka_keeps_in_its_own_form_is_the_same(declared: str, kept: str) -> None:
    assert is_same_value(declared, kept)


@pytest.mark.parametrize(
    ("one", "other"),
    [("true", "false"), ("1", "true"), ("5", "50"), ("delete", "compact"), ("a,b", "b,a"), ("a", "A"), ("", "0")],
)
def test_different_values_stay_different(one: str, other: str) -> None:
    assert not is_same_value(one, other)
