"""`sinkrank` with a proxy that always fetches whole windows, to compare it with the normal proxy."""

from __future__ import annotations

from functools import partial

from reranker.proxy import proxy
from reranker.proxy.window_kinds import WindowKinds
from sinkrank.__main__ import main

if __name__ == "__main__":
    setattr(proxy, "WindowKinds", partial(WindowKinds, kinds=()))  # noqa: B010 - typed, it would be another class
    main()
