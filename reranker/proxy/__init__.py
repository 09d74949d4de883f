"""The proxy: an engine's own API at our address, with the hits of its searches re-ranked."""

from reranker.proxy.proxy import Proxy
from reranker.proxy.routes import PROXY_EXTENSION, register

__all__ = ["PROXY_EXTENSION", "Proxy", "register"]
