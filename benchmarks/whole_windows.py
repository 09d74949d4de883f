"""`sinkrank` with a proxy that always fetches whole windows, to compare it with the normal proxy."""

from __future__ import annotations

from functools import partial

from reranker.proxy import proxy
from reranker.proxy.bare_windows import WindowMemory
from sinkrank.__main__ import main

if __name__ == "__main__":
    setattr(proxy, "WindowMemory", partial(WindowMemory, kinds=()))  # noqa: B010 - typed, it would be another class
    main()
