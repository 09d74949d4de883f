"""The command line: reads arguments, calls the libraries, shows results; it has no arithmetic of its own."""
