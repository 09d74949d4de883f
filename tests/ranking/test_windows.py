"""The passage of a long document that is ranked in its place."""

from __future__ import annotations

import numpy as np
import pytest

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.ranking.windows import best_windows
from reranker.text.bags import BagOfWords, pack, unknown_hash, unpack
from sinkrank import Reranker

# 64 tokens, as many as a part of a bag has.
WATER, BREAD = "water " * 64, "bread " * 64


def words(embeddings: Embeddings, bag: BagOfWords) -> dict[str, int]:
    names = [embeddings.term(term_id)[1] for term_id in bag.term_ids.tolist()]
    return dict(zip(names, bag.counts.tolist(), strict=True))


def window(embeddings: Embeddings, query: str, text: str, language: str = "en") -> BagOfWords:
    read = Reranker(embeddings).query_with_unknown_words(query, "en")
    ((bag, _),) = best_windows(read, [(embeddings.bag(text, language), language)], None)
    return bag


def test_the_window_with_most_of_the_query_stands_for_a_long_document(embeddings: Embeddings) -> None:
    # Part 0 begins with cat; part 4 ends the bread, and has the others.
    text = f"cat {WATER * 3} {BREAD} dog cat xyzzy {WATER * 2}"
    found = window(embeddings, "cat dog xyzzy", text)
    assert words(embeddings, found).keys() == {"cat", "dog", "water", "bread"}
    assert found.unknown_hashes is not None
    assert found.unknown_hashes.tolist() == [unknown_hash("xyzzy")]
    assert words(embeddings, window(embeddings, "water", text)).keys() == {"cat", "water"}


def test_short_documents_and_those_in_other_languages_stay_whole(embeddings: Embeddings) -> None:
    assert words(embeddings, window(embeddings, "cat", "cat " + WATER + BREAD)) == {"cat": 1, "water": 64, "bread": 64}
    assert len(window(embeddings, "cat", "pain " * 200 + "eau " * 200, "fr")) == 2


def test_a_query_that_is_longer_than_a_part_leaves_long_documents_whole(embeddings: Embeddings) -> None:
    query = " ".join(f"zq{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(64))
    assert len(window(embeddings, query, WATER * 4 + BREAD * 4)) == 1
    assert len(window(embeddings, query + " car", WATER * 4 + BREAD * 4)) == 2


def test_a_long_page_that_answers_late_is_before_one_whose_words_are_far_apart(embeddings: Embeddings) -> None:
    late = WATER * 6 + "cat dog" + " water" * 62
    apart = "cat " + WATER * 6 + "dog" + " water" * 62
    reranker = Reranker(embeddings)
    ranking = reranker.rerank("cat dog", [apart, late], language="en", document_languages="en")
    assert [document.index for document in ranking.documents] == [1, 0]
    # From an index, whose bags are packed, comes the same.
    bags = [(unpack(pack(embeddings.bag(text, "en"))), "en") for text in (apart, late)]
    query = reranker.query("cat dog", "en")
    stored = reranker.rerank_bags(query, bags, first_stage_scores=reranker.lexical_scores(query, bags))
    assert stored.documents == ranking.documents


def test_a_long_page_lacks_no_word_that_stands_outside_its_passage(embeddings: Embeddings) -> None:
    named, unnamed = f"xyzzy {WATER * 6} cat dog", f"{WATER * 6} cat dog"
    reranker = Reranker(embeddings)
    query = reranker.query("xyzzy cat dog", "en")
    assert words(embeddings, window(embeddings, query.text, named)).keys() == {"cat", "dog", "water"}
    ranking = reranker.rerank_bags(query, reranker.read_documents([unnamed, named], "en"))
    assert [(one.index, one.correction.lacking_words) for one in ranking.documents] == [(1, ()), (0, ("xyzzy",))]


def test_other_methods_compare_whole_documents(embeddings: Embeddings) -> None:
    text = WATER * 6 + "cat"
    found = Reranker(embeddings).rerank("cat", [text], language="en", document_languages="en", method="nbow")
    # The mean of 384 waters and a cat: their cosine to cat is (384 · -0.6 + 1) / |(384 · -0.6 + 1, 384 · 0.8)|.
    mean = np.array([384 * -0.6 + 1, 384 * 0.8])
    assert found.documents[0].distance == pytest.approx(1 - mean[0] / np.linalg.norm(mean), abs=1e-6)


def test_a_stored_bag_of_other_embeddings_is_refused_before_its_passages_are_looked_at(embeddings: Embeddings) -> None:
    reranker = Reranker(embeddings)
    stored = unpack(pack(BagOfWords(np.array([900_000_000]), np.array([1]), parts=np.array([1]))))
    with pytest.raises(BadInput, match="term id 900000000 is outside the"):
        reranker.rerank_bags(reranker.query("cat", "en"), [(stored, "en")], first_stage_scores=np.ones(1))
