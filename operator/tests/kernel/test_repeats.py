"""What was said a moment ago is no news."""

from seawall.adapters.kube.objects import Repeats


def test_only_what_was_not_said_lately_is_news() -> None:
    now = 0.0
    repeats = Repeats(10.0, lambda: now)
    assert repeats.is_new("a")
    assert repeats.is_new("b")
    assert not repeats.is_new("a")
    now = 9.9
    assert not repeats.is_new("a")
    now = 10.0
    assert repeats.is_new("a")
    assert not repeats.is_new("a")
    assert repeats.is_new("b")
