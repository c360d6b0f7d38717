"""Lists as kubectl prints them, and what a command says when it cannot."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from seawall.cli.hold import HOLDS
from seawall.cli.ledger import ask_operator
from seawall.cli.output import changes
from seawall.cli.parser import build_parser, parse
from seawall.domain.errors import OutsideUnavailable, Refused

PATH = "/apis/seawall.dev/v1alpha1/namespaces/db/walholds"
ALL = "/apis/seawall.dev/v1alpha1/walholds"


def hold(name: str, namespace: str = "db", state: str | None = "Active") -> dict[str, Any]:
    status = {} if state is None else {"state": state, "topics": 1}
    spec = {"clusterRef": {"name": "wal"}, "ttl": "24h"}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec, "status": status}


def shown(*words: str, found: Mapping[str, Any]) -> str:
    arguments = build_parser("hold").parse_args(["hold", "list", "-n", "db", *words])
    return "\n".join(HOLDS.show(arguments, found.get, lambda: None))


ONE: Mapping[str, Any] = {PATH: {"items": [hold("b"), hold("a", state=None)]}}
EVERYWHERE: Mapping[str, Any] = {ALL: {"items": [hold("b", "db2"), hold("a", "db")]}}


def test_a_table_is_in_order_and_wide_has_more() -> None:
    rows = [line.split() for line in shown(found=ONE).splitlines()]
    assert rows[0][:3] == ["NAME", "CLUSTER", "STATE"]
    assert [row[:3] for row in rows[1:]] == [["a", "wal", "-"], ["b", "wal", "Active"]]
    wide = shown("-o", "wide", found=ONE).splitlines()[0].split()
    assert wide[: len(rows[0])] == rows[0]
    assert wide[-1] == "MESSAGE"


def test_all_namespaces_are_a_column() -> None:
    rows = [line.split()[:2] for line in shown("-A", found=EVERYWHERE).splitlines()]
    assert rows == [["NAMESPACE", "NAME"], ["db", "a"], ["db2", "b"]]


def test_programs_get_the_objects_themselves() -> None:
    found = json.loads(shown("-o", "json", found=ONE))
    assert (found["kind"], found["items"]) == ("List", ONE[PATH]["items"])
    assert yaml.safe_load(shown("-o", "yaml", found=ONE)) == found
    assert shown("-o", "name", found=ONE) == "walhold.seawall.dev/a\nwalhold.seawall.dev/b"


def test_nothing_is_said_to_be_nothing() -> None:
    assert shown(found={PATH: {"items": []}}) == "There are no WALHolds."
    with pytest.raises(Refused, match="are Seawall's CRDs there"):
        shown(found={})


def test_a_watch_prints_what_is_new_or_changes() -> None:
    looks = iter([[("a", 1)], [("a", 1)], [("a", 2), ("long", 3)], []])
    printed = changes(
        lambda: [{"name": name, "count": count} for name, count in next(looks)],
        {"NAME": "name", "COUNT": "count"},
        lambda: None,
    )
    assert next(printed) == "NAME   COUNT\na      1"
    assert next(printed) == "a      2\nlong   3"
    with pytest.raises(Refused, match="--watch prints a table"):
        shown("--watch", "-o", "json", found=ONE)


@pytest.mark.parametrize(
    ("silent", "error", "sentence"),
    [
        (timedelta(), Refused, "the operator knows no WALCluster db/wal"),
        (timedelta(days=1), OutsideUnavailable, "no operator leads: seawall-0 renewed its Lease 86"),
    ],
)
def test_a_pod_that_is_gone_is_not_a_walcluster_that_is_missing(
    silent: timedelta, error: type[Exception], sentence: str
) -> None:
    lease = {
        "metadata": {},
        "spec": {"holderIdentity": "seawall-0", "renewTime": (datetime.now(UTC) - silent).isoformat()},
    }
    found = {"/apis/coordination.k8s.io/v1/namespaces/seawall/leases/seawall": lease}
    arguments = argparse.Namespace(operator="seawall/seawall", namespace="db", walcluster="wal")
    with pytest.raises(error, match=sentence):
        ask_operator(found.get, arguments, "ledger")


@pytest.mark.parametrize(
    "words",
    [
        ["ledger", "wal", "--operator", "seawall"],
        ["ledger", "wal", "-t", "wal_[01]"],
        ["purge", "wal", "-t", "wal 1"],
        ["hold"],
        ["nothing"],
        [],
    ],
)
def test_what_is_mistyped_ends_with_its_own_code(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(words)
    assert end.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_the_flag_for_versions_is_the_command() -> None:
    assert parse(["--version"]).command == "version"
