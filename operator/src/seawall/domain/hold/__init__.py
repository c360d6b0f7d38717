"""WALHold: what is written of a claim; its life is in `domain/ledger/holds.py`."""
