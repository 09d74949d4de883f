"""HTTP: our own routes, the rerank APIs, the page, health and metrics."""
