"""Turns counted words into weights other than tf·idf: by powers of the idf, and of the norms that embeddings have
before they are brought to length 1 (word rotator's distance: Yokoi et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.corpora.pages import Corpus
from evaluation.trained import SEED, training_units
from ingest.embeddings.spectral import ppmi, truncated_svd
from ingest.embeddings.training import SINGULAR_VALUE_POWER
from ingest.embeddings.unit_counts import count_units
from ingest.embeddings.units import read_units
from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, WeightedBag
from reranker.text.idf import DocumentFrequencies

Norms = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """tf · idf^idf · norm^norm; as they stand, tf·idf."""

    idf: float = 1.0
    norm: float = 0.0

    def weigh(self, bag: BagOfWords, frequencies: DocumentFrequencies, norms: Norms) -> WeightedBag:
        """Weights that sum to 1, terms of no weight left out; tf alone where none has any, as `IdfTable.weigh`.

        Args:
            norms: (n_terms,) of the embeddings.
        """
        weights = bag.counts * frequencies.idf(bag.term_ids) ** self.idf * norms[bag.term_ids] ** self.norm
        if not weights.any():
            weights = bag.counts.astype(np.float64)
        kept = weights > 0
        return WeightedBag(bag.term_ids[kept], weights[kept] / weights.sum())


def spectral_norms(corpus: Corpus, embeddings: Embeddings) -> Norms:
    """(n_terms,) the length of each term's row of U·S^0.5, which training brings to 1 before it compares spellings.

    A term that has an embedding by its spelling alone has 0.

    Args:
        embeddings: `train_on` this corpus; a store keeps no norms, so the decomposition is done again.
    """
    counts = count_units(read_units(training_units(corpus))).result()
    weighted = sparse.vstack([ppmi(language.units) for language in counts.languages.values()]).tocsr()
    left, values = truncated_svd(weighted, embeddings.dim, SEED)
    lengths = np.linalg.norm(left * values**SINGULAR_VALUE_POWER, axis=1)
    lengths[np.diff(weighted.indptr) == 0] = 0  # rounding
    terms = [(code, term) for code, language in counts.languages.items() for term in language.terms]
    norms = np.zeros(embeddings.n_terms)
    for (code, term), length in zip(terms, lengths.tolist(), strict=True):
        if (term_id := embeddings.term_id(code, term)) is not None:
            norms[term_id] = length
    return norms
