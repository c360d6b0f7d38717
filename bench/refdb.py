"""`make bench BENCH=refdb`. Its code is in `reference_database.py`: to type checkers this name is the package's."""

from __future__ import annotations

from reference_database import main

if __name__ == "__main__":
    main()
