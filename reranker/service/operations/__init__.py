"""How the service is watched and run: metrics, logs, traces, readiness, and the description of its routes."""
