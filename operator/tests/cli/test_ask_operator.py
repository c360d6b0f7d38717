"""What is said when the operator has no answer: there is nothing, or it has not looked yet."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from seawall.cli.ledger import ask_operator
from seawall.domain.errors import Forbidden, OutsideUnavailable, Refused

LEASE = {"metadata": {}, "spec": {"holderIdentity": "seawall-0"}}
ARGUMENTS = argparse.Namespace(operator="seawall/seawall", namespace="db", walcluster="wal")


def ask(found: dict[str, Any] | Exception | None) -> object:
    """Of an operator that answers 404, and an API server that has this under the WALCluster's name."""

    def get(path: str) -> dict[str, Any] | None:
        if path.endswith("/leases/seawall"):
            return LEASE
        if "/proxy/" in path:
            return None
        assert path == "/apis/seawall.dev/v1alpha1/namespaces/db/walclusters/wal"
        if isinstance(found, Exception):
            raise found
        return found

    return ask_operator(get, ARGUMENTS, "ledger")


def test_a_walcluster_that_is_there_is_not_said_to_be_missing() -> None:
    """As it is for some seconds after each start of an operator."""
    with pytest.raises(OutsideUnavailable, match="has not looked at WALCluster db/wal yet"):
        ask({"metadata": {"name": "wal"}})


@pytest.mark.parametrize("found", [None, Forbidden("you may not get walclusters")])
def test_one_that_is_missing_or_nobodys_business_is_not_known(found: Exception | None) -> None:
    with pytest.raises(Refused, match="the operator knows no WALCluster db/wal"):
        ask(found)
