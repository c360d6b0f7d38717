"""What a command needs that is not installed with it is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from seawall.domain.errors import Refused


@contextmanager
def operators_libraries(what: str) -> Iterator[None]:
    """Around imports of what only the operator has.

    Raises:
        Refused: it is not here.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("seawall"):
            raise
        raise Refused(f"{what} needs {error.name}, which is not here: pip install 'seawall[operator]'") from error
