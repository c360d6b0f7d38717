"""The guards of the pages are taken away one by one: a story must then end badly. Prints the kills."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from seawall.adapters.kube.api import KubeApi
from seawall.handlers.access import Gate
from seawall.handlers.ui import reading
from seawall.handlers.ui.reading import Reading, Visible
from tests.cli import test_operator_pages as stories
from tests.cli import test_ui_rights as rights
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

ASKED = 'await ask(self.identify(request), Access("list", WAL_CLUSTER.plural, ""))'
RIGHT_KEY = 'hmac.compare_digest(request.query.get("key", "").encode(), self.key.encode())'
LISTED = "if lists[key.namespace] or caller.may("


def by_tls_only() -> None:
    with TemporaryDirectory() as folder:
        stories.test_a_token_goes_to_pods_by_tls_only(Path(folder))


by_token, by_nobody = stories.test_a_token_decides_and_a_key_does_not_help_it, stories.test_no_page_is_served_to_nobody
by_rights = rights.test_who_may_get_one_sees_one_and_of_it_what_they_may_list

MUTANTS: tuple[Mutant, ...] = (
    (rewritten(Gate, "require", "if not await", "if False and await"), by_token),
    (rewritten(Gate, "require_known", ASKED, "self.identify(request)"), by_nobody),
    (rewritten(Gate, "identify", "if token:", "if False:"), by_token),
    (rewritten(Gate, "identify", RIGHT_KEY, "True"), stories.test_who_shows_neither_token_nor_key_is_not_answered),
    (rewritten(Gate, "_may", "- known[1] <", "* 0 <"), stories.test_an_answer_counts_for_a_while_and_no_longer),
    (rewritten(KubeApi, "shown_to_pods", " or _PODS_BY_TLS not in path", ""), by_tls_only),
    (rewritten(Reading, "cluster", "if not caller.may(", "if False and caller.may("), by_rights),
    (rewritten(Visible, "list", "if not self.caller.may(access)", "if False"), by_rights),
    (rewritten(reading, "_visible_to", LISTED, "if True or caller.may("), by_rights),
)


def test_no_guard_is_idle() -> None:
    assert not find_survivors(MUTANTS)
