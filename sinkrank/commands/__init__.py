"""One module a command, or a group of them; heavy imports stand inside the functions, so that `--help` stays quick."""
