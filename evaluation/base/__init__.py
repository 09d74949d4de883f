"""The common parts of the evaluation: measures, statistics, stopwatch, files."""
