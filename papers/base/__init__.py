"""What the suite, the held-out pages and the studies share: measures, tables, stopwatch, names."""
