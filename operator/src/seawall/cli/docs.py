"""`python -m seawall.cli.docs [--check]`: writes docs/cli.md, the help of every command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from seawall.cli.parser import MEANING, build_parser

PAGE = "docs/cli.md"
WIDTH = "120"
_HEAD = """# The command line

Written by `make crds` from the code. A command talks to the API server as `kubectl` does, with the rights of whoever
types it; `ledger`, `ui`, `plan`, `purge --dry-run`, `report`, and verbs that are about topics also ask the leading
operator, by the API server's proxy (`get` on its Lease and on `pods/proxy`, [ui.md](ui.md#who-may-see-what)); `report`
reads its log, too (`pods/log`). In a pod, too, the kubeconfig is that of `--kubeconfig`, of `$KUBECONFIG`, or
`~/.kube/config`; where there is none of these, and no `--context`, the pod's ServiceAccount is taken, and the pod's
namespace.

| exit code | meaning |
|---|---|
"""


def page() -> str:
    """The page."""
    codes = "".join(f"| {each.value} | {meaning} |\n" for each, meaning in MEANING.items())
    return f"{_HEAD}{codes}\n" + "\n".join(_sections(build_parser()))


def _sections(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {parser.prog}\n\n```\n{parser.format_help()}```\n"
    for each in _subparsers(parser):
        yield from _sections(each)


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other door
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            yield from action.choices.values()


def main() -> int:
    """Writes or compares; returns the exit status."""
    parser = argparse.ArgumentParser(prog="seawall.cli.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with what is there; exit 1 on a difference")
    arguments = parser.parse_args()
    os.environ["COLUMNS"] = WIDTH
    path, text = Path(PAGE), page()
    if not arguments.check:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"{PAGE}: differs from the code; run `make crds`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
