"""An executor of Spark installs the codec, and with it nothing but protobuf."""

import ast
import sys
from pathlib import Path

import pytest

import walrecord

SOURCES = sorted(Path(walrecord.__file__).parent.rglob("*.py*"))


@pytest.mark.parametrize(
    "source", [path for path in SOURCES if path.suffix in {".py", ".pyi"}], ids=lambda path: path.name
)
def test_it_imports_the_standard_library_and_protobuf_only(source: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module or "")
    roots = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    assert roots <= {"google", "walrecord"}
    assert all(name.startswith("google.protobuf") for name in imported if name.startswith("google"))
