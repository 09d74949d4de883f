"""What every part of the evaluation uses: measures, statistics, stopwatch, files."""
