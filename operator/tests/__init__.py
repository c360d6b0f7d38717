"""Tests of the operator; `tests` is the package, so that operator/ itself is never one."""
