"""What Sinkrank depends on: its licences, its list of parts (SBOM), and known vulnerabilities. Not installed."""
