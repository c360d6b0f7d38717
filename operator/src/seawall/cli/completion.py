"""`seawall completion bash|zsh|fish`: what a shell sources, so that Tab completes commands, flags, and names.

The shell asks the program itself at each press of Tab (argcomplete), with what was typed so far: so names come from the
cluster, by the same kubeconfig, context and namespace as the command would take. What goes wrong completes to nothing.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from typing import Any

import argcomplete
from argcomplete.shell_integration import shellcode

from seawall.cli.parser import build_parser, command_of
from seawall.cli.session import Session
from seawall.domain.errors import SeawallError

SHELLS = ("bash", "zsh", "fish")
PROGRAMS = ("seawall", "kubectl-seawall")

Completer = Callable[..., list[str]]
"""Called by argcomplete with `parsed_args`, as far as they are typed."""


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall completion`."""
    parser.description = "For bash: source <(seawall completion bash), for good in ~/.bashrc; others alike."
    parser.add_argument("shell", choices=SHELLS)


def answers(arguments: argparse.Namespace, _: Session) -> Iterator[str]:
    """The script."""
    yield shellcode(list(PROGRAMS), shell=arguments.shell)


def complete() -> None:
    """Answers the shell, and ends the process."""
    typed = os.environ.get("COMP_LINE", "").split()[1:]
    parser = build_parser(command_of(typed))
    _complete_names(parser)
    argcomplete.autocomplete(parser)


NAMES = {
    "walcluster": "walclusters",
    "cluster": "walclusters",
    "walhold": "walholds",
    "walrestore": "walrestores",
    "continues": "walbackups",
}
"""Argument → the kind whose names it takes."""


def _complete_names(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other door
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for each in action.choices.values():
                _complete_names(each)
        elif action.dest in NAMES:
            action.completer = _names(NAMES[action.dest])  # type: ignore[attr-defined] # argcomplete's
        elif action.dest == "reason" and action.nargs == "?":
            action.completer = _reasons  # type: ignore[attr-defined]
        elif action.dest == "namespace":
            action.completer = _namespaces  # type: ignore[attr-defined]
        elif action.dest == "topic":
            action.completer = _topics  # type: ignore[attr-defined]


def _names(plural: str) -> Completer:
    def complete_names(*, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
        path = "/apis/seawall.dev/v1alpha1/namespaces/{namespace}/" + plural
        return [str(each["metadata"]["name"]) for each in _read(parsed_args, path).get("items", ())]

    return complete_names


def _reasons(**_: Any) -> list[str]:
    from seawall.cli.explain import names  # noqa: PLC0415 - only here

    return names()


def _namespaces(*, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    return [str(each["metadata"]["name"]) for each in _read(parsed_args, "/api/v1/namespaces").get("items", ())]


def _topics(*, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Of the pool, by its declaration: nobody needs Kafka for that."""
    name = getattr(parsed_args, "walcluster", None) or getattr(parsed_args, "cluster", None)
    path = f"/apis/seawall.dev/v1alpha1/namespaces/{{namespace}}/walclusters/{name}"
    pool = _read(parsed_args, path).get("spec", {}).get("topics", {})
    return [f"{pool['prefix']}_{number}" for number in range(pool.get("count", 0))]


def _read(arguments: argparse.Namespace, path: str) -> dict[str, Any]:
    try:
        api = Session(arguments).api  # fills in the namespace
        return api.get(path.format(namespace=arguments.namespace)) or {}
    except SeawallError:
        return {}
