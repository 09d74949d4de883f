"""Makes the workload of the benchmarks: a query, its candidates and the embeddings, all synthetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport.cost import ground_cost

Random = np.random.Generator

DIM = 300
FEWEST_WORDS, MOST_WORDS = 30, 300
# Number of words in a topic.
TOPIC_WORDS = 100
TOPICS_PER_TEXT = 6
TOPICAL_SHARE = 0.6
# How much of a word's embedding is its topic's: two words of a topic are then 0.4 to 1.35 apart, strangers sqrt 2.
LEAST_TOPICAL, MOST_TOPICAL = 0.3, 0.95
# Word frequencies fall as 1 / (rank + this), as in running text without its stop words.
ZIPF_OFFSET = 20


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """One query and its candidates.

    Attributes:
        name: name in the report.
        embeddings: (n_terms, dim) float32, rows of norm 1.
    """

    name: str
    query: WeightedBag
    candidates: WeightedBags
    embeddings: NDArray[np.float32]

    def spread(self, seed: int = 0) -> dict[str, float]:
        """Describes the workload: quantiles of the costs over 20 candidates, distinct terms, words."""
        places = np.random.default_rng(seed).choice(len(self.candidates), min(20, len(self.candidates)), replace=False)
        costs = [
            ground_cost(self.query.term_ids, self.candidates[int(k)].term_ids, self.embeddings) for k in sorted(places)
        ]
        every = np.concatenate([cost.ravel() for cost in costs])
        return {
            "n_query_words": len(self.query),
            "n_candidates": len(self.candidates),
            "n_candidate_words": len(self.candidates.term_ids),
            "n_distinct_terms": len(np.unique(self.candidates.term_ids)),
            **{f"cost_quantile_{q}": round(float(np.quantile(every, q)), 3) for q in (0.01, 0.1, 0.5, 0.9)},
            "mean_nearest_cost": round(float(np.mean([cost.min(axis=1).mean() for cost in costs])), 3),
        }


def clustered_embeddings(vocabulary: int, random: Random) -> NDArray[np.float32]:
    """Unit vectors in topics: word k belongs to topic k modulo the number of topics.

    Independent random vectors would all be sqrt 2 apart; with such costs a few iterations converge.
    """
    n_topics = vocabulary // TOPIC_WORDS
    centres = _unit(random.standard_normal((n_topics, DIM), dtype=np.float32))
    rows = np.empty((vocabulary, DIM), np.float32)
    for start in range(0, vocabulary, 10_000):
        block = np.arange(start, min(start + 10_000, vocabulary))
        share = random.uniform(LEAST_TOPICAL, MOST_TOPICAL, (len(block), 1)).astype(np.float32)
        own = _unit(random.standard_normal((len(block), DIM), dtype=np.float32))
        rows[block] = _unit(share * centres[block % n_topics] + np.sqrt(1 - share**2) * own)
    return rows


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def synthetic(n_query_words: int, embeddings: NDArray[np.float32], seed: int, n_candidates: int = 500) -> Workload:
    """A query and candidates about its topics, as a first stage finds them: of 30 to 300 words, log-uniform."""
    random = np.random.default_rng(seed)
    n_topics = len(embeddings) // TOPIC_WORDS
    frequencies = np.cumsum(1 / (np.arange(len(embeddings)) + ZIPF_OFFSET))
    topics = random.choice(n_topics, TOPICS_PER_TEXT, replace=False)
    query = _text(n_query_words, topics, n_topics, frequencies, random)
    lengths = np.exp(random.uniform(np.log(FEWEST_WORDS), np.log(MOST_WORDS), n_candidates)).round().astype(int)
    bags = []
    for length in lengths:
        # A hit shares half of its topics with the query.
        own = np.concatenate([random.choice(topics, TOPICS_PER_TEXT // 2, replace=False), random.choice(n_topics, 3)])
        bags.append(_text(int(length), own, n_topics, frequencies, random))
    return Workload(f"synthetic, vocabulary {len(embeddings)}", query, WeightedBags.join(bags), embeddings)


def _text(
    n_words: int, topics: NDArray[np.int64], n_topics: int, frequencies: NDArray[np.float64], random: Random
) -> WeightedBag:
    """A bag of this many distinct words, some from its topics, the others by their frequency in the language."""
    n_topical = min(round(TOPICAL_SHARE * n_words), TOPIC_WORDS * len(np.unique(topics)) // 2)
    of_topics = np.concatenate([np.arange(TOPIC_WORDS) * n_topics + topic for topic in np.unique(topics)])
    words = dict.fromkeys(random.choice(of_topics, n_topical, replace=False).tolist())
    while len(words) < n_words:
        drawn = np.searchsorted(frequencies, random.random(n_words) * frequencies[-1], side="right")
        words.update(dict.fromkeys(drawn[: n_words - len(words)].tolist()))
    term_ids = np.sort(np.array(list(words), np.int32))
    weights = random.exponential(size=n_words) + 0.05  # tf·idf: a few heavy words, many light ones
    return WeightedBag(term_ids, weights / weights.sum())
