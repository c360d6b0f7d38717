"""What changes between what was shown and what is written."""

from __future__ import annotations

import itertools

import pytest

from seawall.domain.errors import Conflict, Refused
from tests.cli.test_annotation_verbs import BROKEN, Server, type_


def test_a_plan_that_is_made_anew_while_somebody_reads_it_is_not_approved() -> None:
    server = Server()

    def plan_anew() -> None:
        server.object["status"] = {**server.object["status"], "reassignment": {"digest": "xyz"}}
        server.touch()

    server.between = plan_anew
    with pytest.raises(Refused, match="the planned reassignment has digest xyz"):
        type_(server, "approve", "wal", "abc")
    assert not server.annotations


@pytest.mark.parametrize("verb", ["stop-deletes", "pause"])
def test_what_only_holds_seawall_back_is_written_whatever_changes_meanwhile(verb: str) -> None:
    """Whoever stops deletes is in a hurry, and sentences of a WALCluster that is not well change all the time."""
    server = Server({**BROKEN, "type": "Ready"})
    sentences = itertools.count()

    def go_on() -> None:
        server.object["status"] = {"conditions": [{**BROKEN, "type": "Ready", "message": f"{next(sentences)} topics"}]}

    server.between = go_on
    type_(server, verb, "wal", "--yes")
    assert len(server.annotations) == 1
    with pytest.raises(Conflict, match="not as it was shown any more"):
        type_(server, *(("resume", "wal") if verb == "pause" else (verb, "wal", "--undo")))
