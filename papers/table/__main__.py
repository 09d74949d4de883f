"""`python -m papers.table`."""

from papers.base import module_command
from papers.table.command import app

if __name__ == "__main__":
    module_command.run(lambda: app(prog_name="python -m papers.table"))
