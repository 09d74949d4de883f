"""The commands, a module for each or for a group. Heavy imports are in the functions, so that `--help` is quick."""
