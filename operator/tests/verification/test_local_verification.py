"""`seawall verify --local`: the same request and the same verdict, with the program on this machine."""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator, Sequence
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.verification_template import VerificationTemplate
from seawall.cli.local_verification import LocalVerification
from seawall.controllers.hold import WALHoldController
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused, SeawallError
from seawall.domain.spark_job.request import PATHS
from seawall.reconciler import Reconciler
from tests.worlds.purge_world import NAMESPACE
from tests.worlds.verification_world import VerificationWorld

TEMPLATE = VerificationTemplate()


class Program:
    """Stands for the Spark program: keeps what it was told, and writes a verdict as that one does."""

    def __init__(self, world: VerificationWorld, outcome: str = "Passed", code: int = 0) -> None:
        self.world, self.outcome, self.code = world, outcome, code
        self.request: dict[str, Any] = {}
        self.folder = Path()
        self.held: list[str] = []

    def __call__(self, command: Sequence[str]) -> int:
        reported = dict(zip(command[1::2], command[2::2], strict=True))
        raw = gzip.decompress(Path(reported["--request"]).read_bytes())
        self.request, self.folder = json.loads(raw), Path(reported["--request"]).parent
        self.held = self.world.holds()
        verdict = {"version": 1, "requestDigest": sha256(raw).hexdigest(), "outcome": self.outcome, "message": "so"}
        if self.outcome:
            Path(reported["--summary"]).write_text(json.dumps(verdict))
        return self.code


def verify(
    world: VerificationWorld, program: Program, *, granted: bool = True, printed: list[str] | None = None
) -> list[str]:
    """What is printed; with `printed` also where the command ends with an error after it."""
    said = [] if printed is None else printed
    said.extend(pieces_of(world, program, granted=granted))
    return said


def pieces_of(world: VerificationWorld, program: Program, *, granted: bool = True) -> Generator[str]:
    controller = WALHoldController(world.kube, world.observer(), world.time, world.meters)
    granter = Reconciler(controller, may_write=lambda: True)

    def pause() -> None:
        world.time.time += timedelta(seconds=5)
        for _ in range(5 if granted else 0):
            granter.tick(Key(NAMESPACE, "here"))
            world.time.time += timedelta(milliseconds=50)

    local = LocalVerification(world.kube, world.observer(), pause, program)
    return local.verify(world.cluster(), TEMPLATE, "here", ("program",), "-")


def test_the_program_is_told_what_a_job_would_be_while_the_log_is_held() -> None:
    world = VerificationWorld()
    program = Program(world)
    assert verify(world, program) == ["walhold/here granted on 3 topics", "Passed: so"]
    assert program.held == ["here"]
    assert [(topic["from"], topic["to"]) for topic in program.request["topics"]] == [(1, 40)] * 3
    assert program.request["databaseVersion"] == "1.1"
    assert world.holds() == []
    assert not program.folder.exists()


def test_a_log_that_does_not_replay_is_an_error_and_the_hold_goes() -> None:
    world = VerificationWorld()
    with pytest.raises(Refused, match="Failed: so"):
        verify(world, Program(world, "Failed", 1))
    assert world.holds() == []


def test_a_program_that_dies_proves_nothing() -> None:
    world = VerificationWorld()
    with pytest.raises(Refused, match=r"nothing was proved: the driver left no verdict \(exit code 137\)"):
        verify(world, Program(world, "", 137))
    assert world.holds() == []


def test_the_program_has_the_user_of_verifications_where_one_is_declared() -> None:
    world = VerificationWorld()
    world.kube.secrets[Key(NAMESPACE, "kafka-user")] = {"username": b"seawall", "password": b"of Seawall"}
    world.kube.secrets[Key(NAMESPACE, "kafka-reader")] = {"username": b"reader", "password": b"of verifications"}
    own = {"spark": {"image": "replay-verification:1"}, "kafkaCredentialsSecretRef": {"name": "kafka-reader"}}
    world.edit_cluster(own, sasl={"credentialsSecretRef": {"name": "kafka-user"}})
    said: list[str] = []

    class Looking(Program):
        def __call__(self, command: Sequence[str]) -> int:
            code = super().__call__(command)
            sasl = self.request["kafka"]["sasl"]
            said.extend(Path(sasl[name]).read_text() for name in ("usernameFile", "passwordFile"))
            return code

    verify(world, Looking(world))
    assert said == ["reader", "of verifications"]


def test_without_an_operator_nothing_is_read() -> None:
    world = VerificationWorld()
    program = Program(world)
    with pytest.raises(OutsideUnavailable, match="does Seawall's operator run"):
        verify(world, program, granted=False)
    assert (program.request, world.holds()) == ({}, [])


def test_passwords_are_files_of_that_run_only() -> None:
    assert set(PATHS) == {"caFile", "certFile", "keyFile", "usernameFile", "passwordFile"}
    world = VerificationWorld()
    names: list[str] = []

    class Looking(Program):
        def __call__(self, command: Sequence[str]) -> int:
            code = super().__call__(command)
            names.extend(sorted(path.name for path in self.folder.iterdir()))
            assert self.folder.stat().st_mode & 0o077 == 0
            return code

    verify(world, Looking(world))
    assert set(PATHS) < set(names)


def refuse_to_delete(world: VerificationWorld, monkeypatch: pytest.MonkeyPatch, *errors: SeawallError) -> None:
    """The API server answers so, one after another, and then as ever."""
    left, delete = list(errors), world.kube.delete

    def fail(obj: AnyResource) -> None:
        if left:
            raise left.pop(0)
        delete(obj)

    monkeypatch.setattr(world.kube, "delete", fail)


def test_a_hold_whose_status_was_written_in_this_moment_goes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    world = VerificationWorld()
    refuse_to_delete(world, monkeypatch, Conflict("it changed"))
    assert verify(world, Program(world)) == ["walhold/here granted on 3 topics", "Passed: so"]
    assert world.holds() == []


def test_a_verdict_is_told_although_the_hold_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    world = VerificationWorld()
    refuse_to_delete(world, monkeypatch, OutsideUnavailable("no answer"), OutsideUnavailable("no answer"))
    stays = "walhold/here is still there, and counts until its ttl is over: no answer"
    before: list[str] = []
    with pytest.raises(Refused, match="Failed: so"):
        verify(world, Program(world, "Failed", 1), printed=before)
    assert before[-1].startswith(stays), "the hold is told also where the verdict ends the command"
    assert world.holds() == ["here"]
    world.kube.remove(Key(NAMESPACE, "here"), WALHold)
    printed = verify(world, Program(world))
    assert printed[1] == "Passed: so"
    assert printed[2].startswith(stays)


def test_who_interrupts_a_verification_is_told_of_a_hold_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    world = VerificationWorld()
    refuse_to_delete(world, monkeypatch, OutsideUnavailable("no answer"))
    printed: list[str] = []

    class Interrupted(Program):
        def __call__(self, command: Sequence[str]) -> int:  # noqa: ARG002 - nothing is run
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(world, Interrupted(world), printed=printed)
    assert printed[-1].startswith("walhold/here is still there")


def test_whoever_reads_no_further_leaves_no_hold() -> None:
    """The output is a pipe that was closed, and nothing can be printed any more."""
    world = VerificationWorld()
    pieces = pieces_of(world, Program(world))
    assert next(pieces) == "walhold/here granted on 3 topics"
    assert world.holds() == ["here"]
    pieces.close()
    assert world.holds() == []
