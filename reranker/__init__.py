"""What the command line, the service and the library `sinkrank` are made of: see docs/architecture.md."""
