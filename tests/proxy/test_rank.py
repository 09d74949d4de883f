"""What a window is marked with whose re-ranking does not end in time."""

from types import SimpleNamespace

from reranker.proxy.rank import WindowRanker
from reranker.proxy.window import Window
from reranker.upstream.calls import Deadline


def test_a_window_whose_texts_are_read_when_the_time_is_over_is_out_of_time():
    now = [0.0]

    class Slow:
        """Texts that take two seconds to read."""

        def collect(self, windows, caller, look_up):
            now[0] = 2.0
            return ["a bag"] * len(windows)

    calls = SimpleNamespace(deadline=Deadline(1.0, lambda: now[0]), incoming=SimpleNamespace(caller=None))
    window = Window(SimpleNamespace(page=SimpleNamespace(offset=0)), None, None, SimpleNamespace(hits=[]))
    slot = SimpleNamespace(run=lambda work, deadline: work())
    (ranked,) = WindowRanker(None, Slow()).rank(SimpleNamespace(calls=calls), [window], {}, slot)
    assert (ranked.outcome.status, ranked.outcome.reason) == ("fallback", "out_of_time")
