"""The guards of a secured Kafka are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta

import pytest

from seawall.controllers import kafka_security as users_controller
from seawall.controllers import managed_kafka as nodes_controller
from seawall.controllers.given import Given
from seawall.domain.kafka_security import decide
from seawall.domain.managed_kafka import case, certificates, plan
from seawall.domain.managed_kafka import decide as nodes_decide
from seawall.observe import certificates as observed
from seawall.observe import managed_kafka as kafka
from tests.kafka_security import test_certificates as read
from tests.kafka_security import test_kafka_security as stories
from tests.kafka_security import test_kafka_security_crash as lives
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.managed_world import CHANGES
from tests.worlds.purge_world import Calls
from tests.worlds.secured_world import OPERATOR, SecuredWorld

Patch = pytest.MonkeyPatch


def of_a_world(story: Callable[[SecuredWorld], object]) -> Callable[[], None]:
    """The story, in a world that was brought up."""

    def tell() -> None:
        story(stories.brought_up())

    return tell


def of_a_fault(number: int) -> Callable[[], None]:
    """One of the Secrets that do not fit, by its place in the table."""
    (mark,) = (each for each in read.test_each_fault_is_one_sentence.pytestmark if each.name == "parametrize")  # type: ignore[attr-defined]
    nodes, sentence = mark.args[1][number]
    return lambda: read.test_each_fault_is_one_sentence(nodes, sentence)


def not_read_again(patch: Patch) -> None:
    """Secrets are not read once more right before a node is made."""
    patch.setattr(nodes_controller.ManagedKafkaController, "_require_secured", lambda *_: None)


def not_decided_again(patch: Patch) -> None:
    """What is done to users is not decided once more right before."""
    patch.setattr(users_controller.KafkaSecurityController, "_ask_again", lambda *_: None)


def before_each(begin: Callable[[], SecuredWorld], call: str, move: lives.Move, which: slice) -> Callable[[], None]:
    """The move right before some calls of this name, one life each: those before nodes are made, or users served."""

    def tell() -> None:
        start, calls = begin(), Calls(lambda _: None, CHANGES)
        copy.deepcopy(start).live(calls)
        for at in [number for number, name in enumerate(calls.names) if name == call][which]:
            lives.lived(start, at, move)

    return tell


def reader_is_new() -> SecuredWorld:
    """All nodes are up, and no user was given anything yet."""
    world = SecuredWorld()
    world.kafka.users.refuses = "not yet"
    world.live(until=lambda: world.says("AllOnline") and world.told(stories.USERS) is not None)
    world.kafka.users.refuses = ""
    world.check("")
    return world


def comes_up() -> None:
    """With all Secrets there."""
    stories.brought_up()


MADE = before_each(SecuredWorld, "create", lives.secrets_go, slice(6, 10))
GIVEN = before_each(reader_is_new, "get_secret", lives.user_goes, slice(10, 14))
MISSING = stories.test_nothing_is_started_while_a_secret_is_missing
COMES_BACK = of_a_world(stories.test_a_user_that_comes_back_after_an_answer_was_lost_gets_its_password_again)
LEFT = of_a_world(stories.test_a_user_that_leaves_the_spec_can_do_nothing_any_more)
RIGHTS = of_a_world(stories.test_rights_that_somebody_gave_a_declared_user_are_taken_and_those_of_others_are_left)
LOST_DISK = of_a_world(stories.test_a_lost_disk_gets_no_token_before_the_certificates_fit)
MUTANTS: tuple[Mutant, ...] = (
    (rewritten(plan, "plan", "case.unusable is not None or ", "", nodes_decide), LOST_DISK),
    (
        rewritten(plan, "plan", "return _only_taken_back(case)", "return ()", nodes_decide),
        stories.test_a_token_is_taken_back_whatever_the_certificates_are,
    ),
    (
        rewritten(nodes_decide, "_making", "(unusable := why_not_secured(cluster, observed)) is not None", "False"),
        lambda: MISSING(OPERATOR),
    ),
    (
        rewritten(case, "why_not_secured", "observed.certificates is None", "True", nodes_decide, nodes_controller),
        comes_up,
    ),
    (
        rewritten(
            kafka, "reach", "status is None or view.cluster_id != status.cluster_id", "status is None", users_controller
        ),
        of_a_world(stories.test_another_kafka_at_its_addresses_is_not_changed),
    ),
    (not_read_again, MADE),
    (not_decided_again, GIVEN),
    (
        rewritten(Given, "note", "if name != user}", "if name != user or given is None}"),
        COMES_BACK,
    ),
    (rewritten(certificates, "_of_one", "if found.expires <= now:", "if False:"), of_a_fault(9)),
    (rewritten(certificates, "_of_one", "if found.begins > now:", "if False:"), of_a_fault(10)),
    (rewritten(certificates, "_of_one", "if not found.fits_key:", "if False:"), of_a_fault(6)),
    (rewritten(certificates, "_of_one", "if found.subject != subject:", "if False:"), of_a_fault(8)),
    (rewritten(certificates, "_of_one", "if not found.signed_by & found.trusted:", "if False:"), of_a_fault(14)),
    (rewritten(certificates, "_faults", "if not operator.signed_by & nodes.trusted:", "if False:"), of_a_fault(15)),
    (
        rewritten(certificates, "_faults", "if not nodes.signed_by & operator.trusted:", "if False:"),
        read.test_the_operator_has_to_trust_the_nodes_too,
    ),
    (
        rewritten(certificates, "_covers", "host in names or f\"*.{host.partition('.')[2]}\" in names", "True"),
        of_a_fault(11),
    ),
    (rewritten(observed, "_is_signed_by", "return False", "return True"), of_a_fault(15)),
    (
        rewritten(
            certificates, "_soon", "min(CERTIFICATE_EXPIRES_SOON, life * CERTIFICATE_LAST_SHARE)", "timedelta(30)"
        ),
        lambda: stories.test_a_short_certificate_is_reported_in_the_last_quarter_of_its_life(
            20, timedelta(hours=1), is_well=True
        ),
    ),
    (
        rewritten(observed, "_described", "*_last(above)", ""),
        stories.test_a_ca_that_ends_is_reported_thirty_days_before_however_short_what_it_signs,
    ),
    (rewritten(decide, "_actions", "has - wanted", "has - has"), RIGHTS),
    (rewritten(decide, "_actions", "wanted - has", "wanted - wanted"), RIGHTS),
    (rewritten(decide, "_actions", "{*case.recorded, *case.declared}", "{*case.declared}"), LEFT),
    (rewritten(decide, "_actions", "for user in case.gone:", "for user in ():"), LEFT),
    (
        rewritten(decide, "_is_nothing_left", "isinstance(found, str) or case.acls_of(user, found)", "True"),
        LEFT,
    ),
    (
        rewritten(decide, "decide", "done = () if is_paused else actions", "done = actions", users_controller),
        of_a_world(stories.test_a_paused_one_changes_no_user),
    ),
)


@pytest.mark.timeout(1_200)
def test_each_guard_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)


@pytest.mark.parametrize("story", [MADE, GIVEN], ids=["made", "given"])
def test_with_all_guards_the_stories_of_this_file_end_well(story: Callable[[], None]) -> None:
    story()
