"""Ports of a process whose changes the outside refuses, or does not answer, for as long as the test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from seawall.domain.errors import SeawallError
from tests.support.watched import watched

ACTIONS = frozenset(
    {
        "add_acls",
        "advance_markers",
        "alter_configs",
        "alter_default_configs",
        "alter_throttles",
        "append_nulls",
        "create",
        "create_topics",
        "delete",
        "delete_config_map",
        "delete_records",
        "delete_topics",
        "elect_preferred_leaders",
        "evict",
        "flush_regions",
        "reassign",
        "remove_acls",
        "renew_template",
        "replace_spec",
        "set_config_hash",
        "set_finalizers",
        "set_maintenance",
        "set_partition",
        "set_password",
        "write",
        "write_config_map",
        "write_record",
    }
)
"""All calls that change something, but for status and events."""


class Refusal:
    """Lets nothing happen.

    Args:
        error: what each of the calls raises.
        calls: the names of the calls.

    Attributes:
        is_on: whether it does so now.
        count: how often it did.
    """

    def __init__(self, error: SeawallError, calls: Iterable[str] = ACTIONS) -> None:
        self.error, self.calls = error, frozenset(calls)
        self.is_on, self.count = True, 0

    def guard(self, port: Any) -> Any:
        """The same port."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        if self.is_on and name in self.calls:
            self.count += 1
            raise self.error
        return function(*args, **kwargs)
