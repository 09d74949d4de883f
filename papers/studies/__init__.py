"""Studies that chose the default order."""
