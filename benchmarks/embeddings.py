"""Compares the import of an embeddings file with libraries that read such files: time and memory.

Each side runs in its own process, in turn. `read` only reads the bytes. `numpy` (`loadtxt`), `pandas` and `gensim`
(`KeyedVectors.load_word2vec_format`) read the numbers into memory. Ours also selects and normalises the words and
writes a store to disk. Options: `python -m benchmarks.embeddings --help`
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.report import machine

SEED = 20180326
# Number of distinct rows. They are repeated with other words, which makes no difference to a parser.
N_DRAWN = 5_000
READ_BYTES = 1 << 22


def write_file(path: Path, n_terms: int, dim: int) -> None:
    """Writes a word2vec text file with synthetic words and numbers of six decimals."""
    rng = np.random.default_rng(SEED)
    rows = [(" ".join(f"{x:.6f}" for x in row) + "\n").encode() for row in rng.normal(0, 0.3, (N_DRAWN, dim))]
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(f"{n_terms} {dim}\n".encode())
        for number in range(n_terms):
            file.write(_word(number).encode() + b" " + rows[number % N_DRAWN])
    partial.rename(path)


def _word(number: int) -> str:
    letters = []
    for _ in range(6):
        number, letter = divmod(number, 26)
        letters.append(chr(97 + letter))
    return "".join([*letters, "q"])


def read(path: Path, store: Path) -> int:
    with path.open("rb", buffering=0) as file:
        return sum(len(part) for part in iter(lambda: file.read(READ_BYTES), b""))


def numpy(path: Path, store: Path) -> int:
    with path.open("rb") as file:
        file.readline()
        words: list[bytes] = []

        def numbers(lines: int) -> list[bytes]:
            rows = []
            for line in file:
                word, _, rest = line.partition(b" ")
                words.append(word)
                rows.append(rest)
                if len(rows) == lines:
                    break
            return rows

        blocks = []
        while rows := numbers(2_048):
            blocks.append(np.loadtxt(rows, dtype=np.float32, comments=None, ndmin=2))
    return sum(map(len, blocks))


def pandas(path: Path, store: Path) -> int:
    import csv

    import pandas as library

    with path.open("rb") as file:
        dim = int(file.readline().split()[1])
    types = {0: "str"} | dict.fromkeys(range(1, dim + 1), "float32")
    found = library.read_csv(
        path, sep=" ", header=None, skiprows=1, dtype=types, quoting=csv.QUOTE_NONE, na_filter=False
    )
    return len(found)


def gensim(path: Path, store: Path) -> int:
    from gensim.models import KeyedVectors

    return len(KeyedVectors.load_word2vec_format(str(path), binary=False))


def sinkrank(path: Path, store: Path) -> int:
    from ingest.embeddings.importing import import_embeddings
    from ingest.embeddings.selection import Source

    return sum(import_embeddings([Source(path, "en")], store, replace=True).languages.values())


SIDES: dict[str, Callable[[Path, Path], int]] = {
    "sinkrank": sinkrank,
    "read": read,
    "numpy": numpy,
    "pandas": pandas,
    "gensim": gensim,
}


def measured(name: str, path: Path, store: Path) -> dict[str, float]:
    """Wall and CPU time (s) and peak memory (GiB) of one side in a new process, without imports."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_run, (name, path, store))


def _run(name: str, path: Path, store: Path) -> dict[str, float]:
    warm_up = path.with_name(path.name + ".small")
    SIDES[name](warm_up, store.with_name(store.name + ".small"))  # imports, and what is compiled
    wall, cpu = time.perf_counter(), time.process_time()
    n_terms = SIDES[name](path, store)
    return {
        "wall_s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "n_terms": n_terms,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--folder", type=Path, required=True, help="folder for the file (some 2.7 kB a term) and the store"
    )
    parser.add_argument("--terms", type=int, default=2_000_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sides", default=",".join(SIDES), help="of " + ", ".join(SIDES))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"{options.terms}x{options.dim}.vec"
    for file, n_terms in ((path, options.terms), (path.with_name(path.name + ".small"), 100)):
        if not file.exists():
            write_file(file, n_terms, options.dim)
    sides = [side for side in options.sides.split(",") if side in SIDES]
    sides = [side for side in sides if side not in ("pandas", "gensim") or importlib.util.find_spec(side)]
    print(json.dumps(machine()))
    print(f"{options.terms:,} terms, dim {options.dim}, {path.stat().st_size / 2**30:.2f} GiB, seed {SEED}")
    found: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for _ in range(options.rounds):
        for side in sides:
            found[side].append(measured(side, path, options.folder / "store"))
            print(side, found[side][-1], flush=True)
    ours = statistics.median(run["wall_s"] for run in found["sinkrank"]) if "sinkrank" in found else None
    for side, runs in found.items():
        wall, cpu = (statistics.median(run[unit] for run in runs) for unit in ("wall_s", "cpu_s"))
        ratio = f", import takes {ours / wall:.2f} times that" if ours and side != "sinkrank" else ""
        peak = max(run["peak_gib"] for run in runs)
        print(f"{side:10}{wall:8.1f} s, {cpu:6.1f} s CPU, peak {peak:.2f} GiB{ratio}")


if __name__ == "__main__":
    main()
