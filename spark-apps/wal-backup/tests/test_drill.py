"""A drill: a backup comes back into other topics than its own, which it does not touch, and is decoded there."""

from __future__ import annotations

import secrets

import pytest
from backups import Bed
from restores import Restores, same
from spark_marks import WITH_SPARK
from test_injected_faults import FAULTS
from test_round_trip import transaction
from wal_logs import clean_log

from tests.support.mutants import Mutant, find_survivors
from wal_backup.decode import Decoded
from wal_backup.restore import run

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK
Patch = pytest.MonkeyPatch
BEGINS = 20


class Drills:
    """Two topics with entries: one was backed up from the middle on, and ends in a hole."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.restores, stem = bed, Restores(bed), secrets.token_hex(4)
        self.log = clean_log()
        whole, holey = f"whole_{stem}", f"holey_{stem}"
        bed.topics.fill(dict.fromkeys((whole, holey), self.log.records))
        transaction(bed, holey, [b"gone"] * 2, commits=False)
        self.ends = {whole: (0, self.log.end), holey: (BEGINS, self.log.end + 3)}
        assert bed.back_up(*((name, *ends) for name, ends in self.ends.items())).code == 0
        self.into = {name: f"seawall-scratch-{stem}-{at}" for at, name in enumerate(self.ends)}

    def comes_back(self) -> None:
        """Into scratch topics, each record at its offset; the log that was backed up is as before."""
        restores = self.restores
        before = {name: restores.state(name) for name in self.into}
        answer = restores.drill(self.into)
        assert answer.summary["outcome"] == "Passed", answer.summary
        assert (answer.summary["restored"], answer.summary["verified"], answer.summary["warnings"]) == (
            2,
            "Integrity",
            0,
        )
        for name, (start, end) in self.ends.items():
            assert same(restores.log(self.into[name]), self.bed.log(name, start, end), start, end)
            assert restores.state(name) == before[name]

    def damage_is_named(self) -> None:
        """By the topic that was backed up, and only if it is asked for: each record is what was backed up."""
        records, ((kind, offset, _),) = FAULTS["flipped-payload"](self.log)
        name = f"harmed_{secrets.token_hex(4)}"
        chain = name.replace("_", "-")
        self.bed.topics.fill({name: records})
        assert self.bed.back_up((name, 0, len(records)), chain=chain).code == 0
        into = {name: f"seawall-scratch-{secrets.token_hex(4)}-0"}
        passed = self.restores.drill(into, None, chain=chain)
        assert (passed.summary["outcome"], "verified" in passed.summary) == ("Passed", False)
        answer = self.restores.drill(into, chain=chain)
        assert answer.summary["outcome"] == "Failed", answer.summary
        (found,) = answer.summary["findings"]
        assert (found["kind"], found["topic"], found["offset"]) == (kind, name, offset)

    def own_topics_are_refused(self) -> None:
        """Whoever asks for them by mistake: they are not empty."""
        planned = self.restores.plan(*self.into)
        answer = self.bed.run("restore", self.restores.request(planned.summary["plan"]["digest"], *self.into))
        assert (answer.summary["outcome"], "is not empty" in answer.summary["message"]) == ("Refused", True)


def never_decoded(patch: Patch) -> None:
    patch.setattr(run, "decode_back", lambda *_: Decoded((), 0))


def names_of_the_backup(patch: Patch) -> None:
    patch.setattr(run, "targets_of", lambda plan, _: list(plan.topics))


def test_a_drill_proves_a_backup_beside_the_log(folder_bed: Bed) -> None:
    drills = Drills(folder_bed)
    mutants: tuple[Mutant, ...] = (
        (names_of_the_backup, drills.comes_back),
        (never_decoded, drills.damage_is_named),
    )
    drills.own_topics_are_refused()
    for _, story in mutants:
        story()
    assert find_survivors(mutants) == []
