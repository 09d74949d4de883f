"""Times the look-up of a word at Levenshtein distance 1 beside rapidfuzz over all words, in one process, in turn.

python -m benchmarks.spelling [--vocabulary 500000] [--words 600] [--peer-words 60]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from benchmarks import report
from benchmarks.timing import Times
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.embeddings.spelling import Spellings

LANGUAGE = "en"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwz", "aeiouy"

Find = Callable[[str], int | None]


def made_up_words(n: int, rng: Random) -> list[str]:
    """Distinct words of two to six syllables of a consonant, a vowel and at times one more consonant."""
    found: dict[str, None] = {}
    while len(found) < n:
        syllables = [
            rng.choice(_CONSONANTS) + rng.choice(_VOWELS) + (rng.choice(_CONSONANTS) if rng.random() < 0.5 else "")
            for _ in range(rng.randint(2, 6))
        ]
        found["".join(syllables)] = None
    return list(found)


def edited(word: str, n_edits: int, rng: Random) -> str:
    """The word with letters taken out, put in or put in the place of others."""
    for _ in range(n_edits):
        place, letter = rng.randrange(len(word)), rng.choice(_LETTERS)
        word = word[:place] + rng.choice(["", letter, word[place] + letter]) + word[place + 1 :]
    return word


def asked(words: Sequence[str], n: int, rng: Random) -> list[str]:
    """Words that are not among these: a third is an edit away from one of them, a third two, and a third is others."""
    known, found = set(words), list[str]()
    others = iter(made_up_words(4 * n, rng))
    while len(found) < n:
        kind = len(found) % 3
        word = next(others) if kind == 2 else edited(rng.choice(words), kind + 1, rng)
        if len(word) >= 4 and word not in known:
            found.append(word)
    return found


def answers(store: Path, words: Sequence[str]) -> list[int | None]:
    """What a process that opens the store finds."""
    embeddings = Embeddings.open(store)
    return [Spellings.open(store, embeddings.vocabulary).nearest(LANGUAGE, word) for word in words]


def by_comparing(terms: Sequence[str], word: str) -> int | None:
    """The first of the terms at distance 1, by rapidfuzz."""
    found = process.extractOne(word, terms, scorer=Levenshtein.distance, score_cutoff=1)
    return None if found is None else int(found[2])


def timed(sides: dict[str, tuple[Find, int]], words: Sequence[str], rounds: int) -> dict[str, Times]:
    """Each word by each side in turn; a side that is slow has fewer of them.

    Args:
        sides: what finds, and how many of the words it is asked.
    """
    times = {name: Times() for name in sides}
    for _ in range(rounds):
        for place, word in enumerate(words):
            for name, (find, n_words) in sides.items():
                if place < n_words:
                    times[name].measure(partial(find, word))
    return times


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    rng = Random(options.seed)  # noqa: S311 - no secret
    terms = made_up_words(options.vocabulary, rng)
    words = asked(terms, options.words, rng)
    with tempfile.TemporaryDirectory(prefix="sinkrank-bench-") as name:
        store = Path(name, "embeddings")
        with EmbeddingsWriter(store, dim=1, source="benchmarks.spelling") as writer:
            writer.append(LANGUAGE, terms, np.ones((len(terms), 1)))
            writer.commit()
        results = measured(store, terms, words, options.peer_words, options.rounds)
    options.out.mkdir(parents=True, exist_ok=True)
    options.out.joinpath("results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("written:", options.out / "results.json")


def measured(store: Path, terms: Sequence[str], words: Sequence[str], n_peer_words: int, rounds: int) -> dict[str, Any]:
    """Times, and whether rapidfuzz and another process find the same; prints them."""
    spellings = Spellings.open(store, Embeddings.open(store).vocabulary)
    ours, theirs = partial(spellings.nearest, LANGUAGE), partial(by_comparing, terms)
    found = [ours(word) for word in words]
    # A process that is spawned, not forked, hashes strings by a seed of its own.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        elsewhere = pool.submit(answers, store, words).result()
    times = timed({"Sinkrank": (ours, len(words)), "rapidfuzz, all words": (theirs, n_peer_words)}, words, rounds)
    results = {
        "machine": report.machine(),
        "n_terms": len(terms),
        "n_words": len(words),
        "share_found": round(sum(one is not None for one in found) / len(found), 3),
        "same_as_rapidfuzz": [theirs(word) for word in words[:n_peer_words]] == found[:n_peer_words],
        "same_in_another_process": elsewhere == found,
        "sides": {side: _summary(taken) for side, taken in times.items()},
    }
    for key, value in results.items():
        print(f"{key}: {value}")
    return results


def _summary(times: Times) -> dict[str, float]:
    """Of all words and rounds, ms a word."""
    slowest = {"99_percent_ms": times.wall_ms, "cpu_99_percent_ms": times.cpu_ms}
    return {**times.summary, **{name: round(float(np.percentile(taken, 99)), 3) for name, taken in slowest.items()}}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spelling", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--vocabulary", type=int, default=500_000, help="made-up words of one language")
    parser.add_argument("--words", type=int, default=600, help="that are looked up, none of which is known")
    parser.add_argument("--peer-words", type=int, default=60, help="how many of them the peer is asked too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/spelling"), help="folder of the results")
    return parser


if __name__ == "__main__":
    main()
