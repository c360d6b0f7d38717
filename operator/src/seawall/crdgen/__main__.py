"""`python -m seawall.crdgen [--check]`: writes the generated files, or compares them and fails on drift."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from seawall.crdgen.conditions import CONDITIONS, EXPLAINED, with_tables
from seawall.crdgen.contract import DOCUMENT, contract
from seawall.crdgen.crd import crd_files
from seawall.crdgen.reference import reference


def main() -> int:
    """Writes or compares; returns the exit status."""
    parser = argparse.ArgumentParser(prog="seawall.crdgen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with what is there; exit 1 on a difference")
    parser.add_argument("--root", type=Path, default=Path(), help="the repository")
    arguments = parser.parse_args()
    page = (arguments.root / CONDITIONS).read_text(encoding="utf-8")
    conditions = with_tables(page)
    files = {
        **crd_files(),
        "docs/reference.md": reference(),
        DOCUMENT: contract(),
        CONDITIONS: conditions,
        EXPLAINED: conditions,
    }
    drifted = [name for name, text in files.items() if not _same(arguments.root / name, text)]
    for name in drifted:
        if arguments.check:
            sys.stderr.writelines(_diff(arguments.root / name, files[name]))
        else:
            (arguments.root / name).parent.mkdir(parents=True, exist_ok=True)
            (arguments.root / name).write_text(files[name], encoding="utf-8")
    if arguments.check and drifted:
        sys.stderr.write(f"{', '.join(drifted)}: differ from the code; run `make crds`\n")
        return 1
    return 0


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def _diff(path: Path, text: str) -> list[str]:
    found = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return list(difflib.unified_diff(found, text.splitlines(keepends=True), str(path), "generated"))


if __name__ == "__main__":
    sys.exit(main())
