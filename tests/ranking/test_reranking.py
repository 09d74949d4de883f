"""Re-ranking texts and bags with the hand-placed vocabulary (tests/support/tiny.py)."""

import copy
import math
import pickle

import numpy as np
import pytest

from reranker.base.errors import BadInput, EmptyQuery, UnknownLanguage, UnknownWords, WrongParameter
from reranker.embeddings.detection import guess_language
from reranker.embeddings.hubness import HubnessSample
from reranker.text.idf import DocumentFrequencies, IdfTable
from sinkrank import Parameters, Reranker
from tests.support.tiny import TRANSLATION_COST


@pytest.fixture(scope="module")
def reranker(embeddings):
    return Reranker(embeddings)


def order(reranking):
    return [document.index for document in reranking.documents]


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto"])
def test_the_translation_comes_first_by_every_method(reranker, method):
    found = reranker.rerank("chat", ["bread water", "dog", "cat"], language="fr", method=method)
    assert order(found) == [2, 1, 0]


def test_distances_of_single_words_are_the_costs_between_them(reranker):
    found = reranker.rerank("chat", ["cat"], language="fr", method="sinkhorn")
    assert found.documents[0].distance == pytest.approx(TRANSLATION_COST, abs=1e-5)
    assert found.documents[0].score == pytest.approx(1 / (1 + TRANSLATION_COST), abs=2e-6)


def test_documents_without_a_known_word_are_last_in_the_given_order(reranker):
    found = reranker.rerank("chat", ["zzz", "bread", "", "yyy"], language="fr")
    assert order(found) == [1, 0, 2, 3]
    assert [math.isinf(document.distance) for document in found.documents] == [False, True, True, True]
    assert all(0 < document.score <= 1 for document in found.documents)


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto"])
@pytest.mark.parametrize("top_n", [1, 3, 7, 9, 50])
def test_the_best_few_are_the_first_of_all(reranker, method, top_n):
    words = ["bread water", "zzz", "dog", "cat", "cat dog", "car", "cat", "water", ""]
    bags = [(reranker.embeddings.bag(text, "en"), "en") for text in words]
    query = reranker.query("chat eau", "fr")
    everything = reranker.rerank_bags(query, bags, method)
    found = reranker.rerank_bags(query, bags, method, top_n=top_n)
    assert found.documents == everything.documents[:top_n]
    assert (found.method, found.precision) == (everything.method, everything.precision)
    assert len(reranker.rerank("chat", words, language="fr", method=method, top_n=top_n).documents) == min(top_n, 9)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_text_that_fits_several_languages_is_read_in_that_of_the_query(reranker, language):
    assert [code for _, code in reranker.read_documents(["zzz", "dog", "eau"], likely=language)] == [
        language,
        "en",
        "fr",
    ]
    # It is held word for word, and so its relevance is known.
    (found,) = reranker.rerank("cat zzz", ["zzz"], language=language).documents
    assert found.relevance is not None


def test_the_relevance_of_the_best_few_is_that_among_all(reranker):
    query, texts = "car", ["dog", "bread", "car water"]
    everything = reranker.rerank(query, texts, language="en", document_languages="en", top_n=3)
    best = reranker.rerank(query, texts, language="en", document_languages="en", top_n=1)
    assert [one.relevance for one in best.documents] == [one.relevance for one in everything.documents[:1]]
    assert best.documents[0].relevance < 0.9  # the others are not so far behind as if they had no score


def test_what_needs_no_solving_for_the_best_few_is_not_solved(reranker):
    """300 times bread, opposite of the cat; one cat."""
    texts = ["bread"] * 300 + ["cat"]
    assert reranker.rerank("chat", texts, language="fr", method="emd").n_solved == 301
    found = reranker.rerank("chat", texts, language="fr", method="emd", top_n=1)
    assert (order(found), found.n_solved) == ([300], 1)


def test_fewer_than_one_best_document_and_unknown_methods_are_refused_whatever_the_query_is(reranker):
    for query in ("chat", "zzz"):
        with pytest.raises(BadInput, match="top_n is 0; give 1 or more"):
            reranker.rerank(query, ["cat"], language="fr", top_n=0)
        with pytest.raises(BadInput, match="method is 'magic'"):
            reranker.rerank(query, ["cat"], language="fr", method="magic")


def test_ties_keep_the_given_order(reranker):
    assert order(reranker.rerank("chat", ["dog", "cat", "cat", "dog"], language="fr")) == [1, 2, 0, 3]


def test_no_documents_give_no_ranking(reranker):
    assert reranker.rerank("chat", [], language="fr").documents == ()


def test_the_method_and_the_arithmetic_are_said(reranker):
    found = reranker.rerank("chat", ["cat"], language="fr", method="sinkhorn", parameters=Parameters(epsilon=0.01))
    assert (found.method, found.precision) == ("sinkhorn", "float64")


def test_an_empty_query_and_one_of_unknown_words_are_refused(reranker):
    with pytest.raises(EmptyQuery, match="at least one"):
        reranker.rerank(" % !", ["cat"], language="fr")
    with pytest.raises(UnknownWords, match="zzz"):
        reranker.rerank("zzz", ["cat"], language="fr")
    with pytest.raises(UnknownWords, match="42"):
        reranker.rerank(" 42 !", ["cat"], language="fr")


def test_a_query_of_numbers_alone_is_read_as_unknown_words(reranker):
    query = reranker.query_with_unknown_words("12345, 0x80", "fr")
    assert (query.unknown_words, query.unknown_share, len(query.weighted)) == (("12345", "0x80"), 1.0, 0)


def test_the_document_with_the_querys_number_comes_first(reranker):
    texts = ["cat 8602", "cat", "cat ISO-8601:2004", "cat 86011 860 1"]
    ranking = reranker.rerank("chat 8601", texts, language="fr", document_languages="en")
    assert ranking.documents[0].index == 2
    assert [document.correction.lacking_words for document in ranking.documents] == [(), *[("8601",)] * 3]
    # A number counts half as much as a word: of "chat" and "8601" a third, which a document without it loses.
    assert ranking.documents[1].order_distance - ranking.documents[0].order_distance == pytest.approx(1 / 3)


def test_a_query_of_one_number_is_about_the_word_within_it_too(reranker):
    query = reranker.query("chat2", "fr")
    assert query.unknown_words == ("chat2",)
    assert query.weighted.term_ids.tolist() == [5]
    assert query.unknown_share == pytest.approx(1 / 3)
    assert len(reranker.query("chien chat2", "fr").weighted) == 1  # where other words are known they say enough


def test_what_is_no_text_is_refused(reranker):
    with pytest.raises(BadInput, match="documents is a text; give a list of texts"):
        reranker.rerank("cat", "chat noir")
    with pytest.raises(BadInput, match="document 1 is of type int; give texts"):
        reranker.rerank("cat", ["chat", 5])
    with pytest.raises(BadInput, match="the query is of type NoneType; give a text"):
        reranker.rerank(None, ["chat"])


@pytest.mark.parametrize("documents", [None, 5, {"cat": 1}, np.array([["cat", "dog"]])])
def test_what_is_no_list_of_documents_is_refused(reranker, documents):
    """A table of pandas has two dimensions, too: its column names would be read."""
    with pytest.raises(BadInput, match=r"documents is of type .*; give a list of texts"):
        reranker.rerank("cat", documents)


def test_a_path_in_the_place_of_embeddings_is_refused_with_the_call_that_takes_one(reranker):
    with pytest.raises(BadInput, match=r"embeddings is of type str; give Embeddings, or a path to Reranker.open"):
        Reranker(str(reranker.embeddings.path))


def test_documents_and_candidates_may_come_one_after_the_other(reranker):
    texts = ["bread", "cat", "dog"]
    expected = reranker.rerank("cat", texts, document_languages="en")
    assert reranker.rerank("cat", (text for text in texts), document_languages="en") == expected
    assert reranker.rerank("cat", map(str, texts), document_languages=iter(["en"] * 3)) == expected
    query, bags = reranker.query("cat"), reranker.read_documents(texts, "en")
    assert reranker.rerank_bags(query, iter(bags)) == reranker.rerank_bags(query, bags)


@pytest.mark.parametrize(
    "options", [{"top_n": 2.0}, {"top_n": "2"}, {"parameters": None}, {"method": ["auto"]}, {"method": None}]
)
def test_an_option_of_another_type_is_refused_by_its_name(reranker, options):
    (name,) = options
    with pytest.raises(BadInput, match=name):
        reranker.rerank("cat", ["cat", "dog"], **options)


@pytest.mark.parametrize("n_threads", [0, -1, "2"])
def test_a_reranker_needs_a_thread(reranker, n_threads):
    with pytest.raises(BadInput, match=f"n_threads is {n_threads!r}; give 1 or more"):
        Reranker(reranker.embeddings, n_threads=n_threads)


def test_preferred_languages_are_a_list_of_tags(reranker):
    """Both languages have a stop word in the query, so that they tie."""
    path, tie = reranker.embeddings.path, "the est"
    assert Reranker.open(path, preferred_languages=["FR"]).query_with_unknown_words(tie).language == "fr"
    assert Reranker.open(path, preferred_languages=["fr-CA", "en"]).query_with_unknown_words(tie).language == "fr"
    assert Reranker.open(path, preferred_languages=["en-US"]).query_with_unknown_words(tie).language == "en"
    for opened in (
        lambda: Reranker.open(path, preferred_languages="fr"),
        lambda: Reranker(reranker.embeddings, preferred_languages="fr"),
    ):
        with pytest.raises(BadInput, match=r"preferred_languages is 'fr'; give a list: \['fr'\]"):
            opened()
    with pytest.raises(UnknownLanguage, match="'french'"):
        Reranker.open(path, preferred_languages=["french"])


def test_a_language_that_was_guessed_is_not_blamed_for_unknown_words(reranker):
    with pytest.raises(UnknownWords, match=r"in any language here \(en, fr\)"):
        reranker.query("zzz")


def test_a_wrong_language_and_a_wrong_method_are_refused(reranker):
    with pytest.raises(UnknownLanguage):
        reranker.rerank("chat", ["cat"], language="klingon")
    with pytest.raises(BadInput, match="sinkhorn"):
        reranker.rerank("chat", ["cat"], language="fr", method="sinkorn")


def test_unknown_words_of_a_query_are_named_in_reading_order(reranker):
    assert reranker.query("yyy chat zzz", "fr").unknown_words == ("yyy", "zzz")


def test_a_query_of_stop_words_alone_is_taken_at_its_word(reranker):
    with pytest.raises(UnknownWords, match="the"):
        reranker.query("the", "en")


def test_the_language_is_guessed_by_the_words_that_are_known(reranker):
    assert guess_language("le chat et l'eau", reranker.embeddings) == "fr"
    assert guess_language("the cat and the water", reranker.embeddings) == "en"


def test_repeated_words_weigh_more(reranker):
    # With mass 3/4 on `chat`, a document of cat and bread in the same shares is nearer than one in the inverse shares.
    found = reranker.rerank(
        "chat chat chat pain", ["cat bread bread bread", "cat cat cat bread"], language="fr", method="emd"
    )
    assert order(found) == [1, 0]
    assert found.documents[0].distance == pytest.approx(TRANSLATION_COST, abs=1e-5)


def test_one_language_too_few_is_refused(reranker):
    with pytest.raises(BadInput, match="1 languages came for 2 documents"):
        reranker.rerank("chat", ["cat", "dog"], language="fr", document_languages=["en"])


def hubs_of(embeddings, words, language):
    """A sample whose queries, enough of them, are these words."""
    bags = [embeddings.bag_of_tokens([words[place % len(words)]], language) for place in range(60)]
    return HubnessSample.of(embeddings.version, [(language, str(place), bag) for place, bag in enumerate(bags)])


def test_a_query_with_an_unknown_identifier_ranks_the_document_that_holds_it_first(reranker):
    """`dog` is near `chat` but not as near as `cat`; half of the query is the identifier."""
    texts = ["cat", "dog xyzzy", "cat xyzzyx", "bread"]
    found = reranker.rerank("chat XYZZY", texts, language="fr")
    assert order(found) == [1, 0, 2, 3]
    first, second = found.documents[:2]
    assert (first.correction.lacking_words, second.correction.lacking_words) == ((), ("xyzzy",))
    assert first.correction.unknown_share == 0.5
    assert first.order_distance == pytest.approx(0.5 * first.distance)
    assert second.order_distance == pytest.approx(0.5 * second.distance + 0.5)
    assert first.score == pytest.approx(1 / (1 + 0.5 * first.distance), abs=1e-6)
    assert second.score == pytest.approx(1 / (1.5 + 0.5 * second.distance), abs=1e-6)
    assert [document.score for document in found.documents] == sorted(
        (document.score for document in found.documents), reverse=True
    )


def test_other_methods_are_not_corrected(reranker):
    texts = ["cat", "dog xyzzy"]
    for method in ("nbow", "rwmd", "emd", "sinkhorn", "relaxed"):
        found = reranker.rerank("chat xyzzy", texts, language="fr", method=method)
        assert order(found) == [0, 1]
        assert [document.order_distance for document in found.documents] == [one.distance for one in found.documents]


def test_the_score_is_that_of_the_distance_and_a_fifth_of_the_hubness(reranker):
    plain = reranker.rerank("eau", ["water", "bread"], language="fr")
    found = Reranker(reranker.embeddings, hubness=hubs_of(reranker.embeddings, ["eau"], "fr")).rerank(
        "eau", ["water", "bread"], language="fr"
    )
    # The cosine to every query of the sample, eau (-0.8, 0.6): water (-0.6, 0.8) 0.96, bread (-1, 0) 0.8.
    assert [one.correction.hubness for one in found.documents] == pytest.approx([0.96, 0.8], abs=1e-6)
    assert [one.distance for one in found.documents] == [one.distance for one in plain.documents]
    assert [one.correction.hubness for one in plain.documents] == [None, None]
    for one, hubness in zip(found.documents, (0.96, 0.8), strict=True):
        assert one.order_distance == pytest.approx(one.distance + 0.2 * hubness)
        assert one.score == pytest.approx(1 / (1 + one.order_distance), abs=1e-6)


def test_a_hub_stands_behind_what_is_nearly_as_near(reranker):
    """Of chien and chat, dog is the nearer to the first; water, all that the sample asks for, is near to it alone."""
    assert order(reranker.rerank("dog", ["chien", "chat"], language="en")) == [0, 1]
    hubs = Reranker(reranker.embeddings, hubness=hubs_of(reranker.embeddings, ["water"], "en"))
    # Cosines of dog with chien and chat: 0.96 and 0.936; of water with chien 0.28, with chat below 0.
    assert order(hubs.rerank("dog", ["chien", "chat"], language="en")) == [1, 0]
    assert order(hubs.rerank("dog", ["chien", "chat"], language="en", method="sinkhorn")) == [0, 1]


@pytest.mark.parametrize("top_n", [1, 2, 5, 70])
def test_the_best_few_are_the_first_of_all_where_hubs_and_unknown_words_move_them(reranker, top_n):
    hubs = Reranker(reranker.embeddings, hubness=hubs_of(reranker.embeddings, ["chat", "eau", "pain"], "fr"))
    texts = ["bread water", "zzz", "dog xyzzy", "cat", "cat dog", "car xyzzy", "cat xyzzy", "water", ""] * 10
    everything = hubs.rerank("chat eau xyzzy", texts, language="fr")
    found = hubs.rerank("chat eau xyzzy", texts, language="fr", top_n=top_n)
    assert found.documents == everything.documents[:top_n]
    assert sorted(order(everything)) == list(range(90))


def test_copies_keep_the_first_stage_order_whatever_rounding_leaves_between_them(reranker):
    """Each of 30 texts comes three times with one score; feedback and neighbours count."""
    random = np.random.default_rng(5)
    texts = [" ".join(random.choice(["cat", "dog", "water", "bread", "car"], 1 + k % 7)) for k in range(30)] * 3
    bags = [(reranker.embeddings.bag(text, "en"), "en") for text in texts]
    scores = np.tile(random.random(30), 3)
    found = reranker.rerank_bags(reranker.query("cat dog water bread", "en"), bags, first_stage_scores=scores)
    assert found.has_feedback
    places = {each.index: each.reranked_rank for each in found.documents}
    assert all(places[k] < places[k + 30] < places[k + 60] for k in range(30))


FAR_AND_NEAR = ["bread", "cat", "dog"]


def test_first_stage_scores_are_added_to_what_auto_says_of_the_words(reranker):
    """Scaled, the first stage says 1, 0 and 1/2 by its scores, 1, 0 and 1/3 by its ranks. Distances by auto from cat:
    bread 2, cat 0, dog 0.2. One of three holds the query, so that the first stage and coverage have 0.6 + c² · 0.05."""
    query, bags = reranker.query("cat", "en"), reranker.read_documents(FAR_AND_NEAR, "en")
    found = reranker.rerank_bags(query, bags, first_stage_scores=np.array([30.0, 10.0, 20.0]))
    share = 0.6 + 0.33**2 * 0.05
    first_stage, coverage, words = 0.7 * share, 0.3 * share, 1 - share
    expected = {0: first_stage, 1: coverage + words, 2: first_stage * (0.5 / 2 + 0.5 / 3) + words * 0.9}
    assert {each.index: each.score for each in found.documents} == pytest.approx(
        {index: 0.02 + 0.98 * value for index, value in expected.items()}, abs=1e-6
    )
    assert order(found) == [1, 2, 0]
    assert all(round(sum(each.parts.values()), 6) == each.score for each in found.documents)


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed"])
def test_the_methods_of_the_papers_ignore_first_stage_scores(reranker, method):
    query, bags = reranker.query("cat", "en"), reranker.read_documents(FAR_AND_NEAR, "en")
    scores = np.array([30.0, 10.0, 20.0])
    assert reranker.rerank_bags(query, bags, method, first_stage_scores=scores) == reranker.rerank_bags(
        query, bags, method
    )


@pytest.mark.parametrize("method", ["nbow", "emd", "sinkhorn", "auto"])
def test_what_is_counted_of_the_best_few_is_of_these_alone(reranker, method):
    """Each of nine candidates of one word has a plan of its own, settled after one iteration."""
    query, bags = reranker.query("cat", "en"), reranker.read_documents(["bread", "dog", "cat"] * 3, "en")
    scores = np.arange(9.0)
    everything = reranker.rerank_bags(query, bags, method, first_stage_scores=scores)
    found = reranker.rerank_bags(query, bags, method, first_stage_scores=scores, top_n=2)
    assert (everything.n_converged, found.n_converged) == (9, 2)
    assert found.n_iterations * 9 == everything.n_iterations * 2
    assert (found.n_candidates, found.documents) == (9, everything.documents[:2])


def test_feedback_is_for_long_queries_with_first_stage_scores_and_may_be_turned_off(reranker):
    bags = reranker.read_documents(["cat dog", "water bread", "car"] * 7, "en")
    long, short = reranker.query("cat dog water bread", "en"), reranker.query("cat dog water", "en")
    scores = np.arange(21.0)
    assert reranker.rerank_bags(long, bags, first_stage_scores=scores).has_feedback
    assert not reranker.rerank_bags(long, bags, first_stage_scores=scores, feedback=False).has_feedback
    assert not reranker.rerank_bags(short, bags, first_stage_scores=scores).has_feedback
    assert not reranker.rerank_bags(long, bags).has_feedback
    assert not reranker.rerank_bags(long, bags, "sinkhorn", first_stage_scores=scores).has_feedback


def test_with_the_whole_share_the_first_stages_order_stays_and_without_it_transport_decides(reranker):
    query, bags = reranker.query("cat", "en"), reranker.read_documents(FAR_AND_NEAR, "en")
    scores = np.array([30.0, 10.0, 20.0])
    whole = reranker.rerank_bags(query, bags, first_stage_scores=scores, first_stage_share=1.0)
    assert [document.index for document in whole.documents] == [0, 2, 1]
    none = reranker.rerank_bags(query, bags, first_stage_scores=scores, first_stage_share=0.0)
    alone = reranker.rerank_bags(query, bags)
    assert [document.index for document in none.documents] == [document.index for document in alone.documents]


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_of_the_first_stage_that_is_none_is_refused(reranker, share):
    query, bags = reranker.query("cat", "en"), reranker.read_documents(FAR_AND_NEAR, "en")
    with pytest.raises(WrongParameter, match="first_stage_share"):
        reranker.rerank_bags(query, bags, first_stage_share=share)


class SeriesOfPandas:
    """Sorted by score: its labels go from the last to the first, and `series[0]` is the value of label 0."""

    def __init__(self, values):
        self._values = list(values)

    def __len__(self):
        return len(self._values)

    def __getitem__(self, label):
        return np.array(self._values[::-1])[label]

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)


@pytest.mark.parametrize("kind", [list, tuple, SeriesOfPandas, lambda scores: np.array(scores, dtype=object)])
def test_first_stage_scores_are_read_by_their_places_whatever_holds_them(reranker, kind):
    query, bags = reranker.query("cat", "en"), reranker.read_documents(FAR_AND_NEAR, "en")
    scores = [10.0, 20.0, 30.0]
    expected = reranker.rerank_bags(query, bags, first_stage_scores=np.array(scores))
    assert reranker.rerank_bags(query, bags, first_stage_scores=kind(scores)) == expected


@pytest.mark.parametrize(
    "scores",
    [1.0, [1.0], [1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [[1.0], [2.0], [3.0]], [1.0, 2.0, "high"], [1.0, [2.0], 3.0]],
)
def test_scores_that_are_not_one_number_for_each_candidate_are_refused(reranker, scores):
    query, bags = reranker.query("cat", "en"), reranker.read_documents(FAR_AND_NEAR, "en")
    with pytest.raises(BadInput, match="first_stage_scores"):
        reranker.rerank_bags(query, bags, first_stage_scores=scores)


@pytest.mark.parametrize("score", [math.inf, -math.inf, 1e308])
def test_a_score_that_lies_infinitely_far_from_others_is_refused(reranker, score):
    query, bags = reranker.query("cat", "en"), reranker.read_documents(FAR_AND_NEAR, "en")
    with pytest.raises(BadInput, match="NaN where nothing is known"):
        reranker.rerank_bags(query, bags, first_stage_scores=[1.0, score, 3.0])


@pytest.mark.parametrize("name", ["translated", "exact"])
def test_what_is_true_of_single_candidates_may_be_said_in_0_and_1_of_each(reranker, name):
    query, bags = reranker.query("cat", "en"), reranker.read_documents(FAR_AND_NEAR, "en")
    scores = np.array([10.0, 20.0, 30.0])
    expected = reranker.rerank_bags(query, bags, first_stage_scores=scores, **{name: np.array([True, False, False])})
    assert reranker.rerank_bags(query, bags, first_stage_scores=scores, **{name: np.array([1, 0, 0])}) == expected
    with pytest.raises(BadInput, match=name):
        reranker.rerank_bags(query, bags, first_stage_scores=scores, **{name: np.array([True])})


@pytest.mark.parametrize(
    ("text", "language"), [("cat dog dog", None), ("chat 42 eau", "fr"), ("cat chat", None), ("cat2", None)]
)
@pytest.mark.parametrize("preferred", [("en",), ("fr",)])
def test_a_query_that_is_weighed_again_is_as_the_other_reranker_reads_it(reranker, text, language, preferred):
    bags = [reranker.embeddings.bag(words, "en") for words in ("cat", "cat dog", "cat water")]
    idf = IdfTable({"en": DocumentFrequencies.count(bags)})
    other = Reranker(reranker.embeddings, idf, preferred_languages=preferred)
    again = other.weigh_again(reranker.query(text, language), language)
    read = other.query_with_unknown_words(text, language)
    assert (again.text, again.language, again.tokens) == (read.text, read.language, read.tokens)
    assert (again.unknown_words, again.unknown_share) == (read.unknown_words, read.unknown_share)
    assert again.weighted.term_ids.tolist() == read.weighted.term_ids.tolist()
    assert again.weighted.weights.tolist() == read.weighted.weights.tolist()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda reranker: pickle.loads(pickle.dumps(reranker))])
def test_a_copied_reranker_ranks_as_the_first_one(reranker, copied):
    bags = [reranker.embeddings.bag(words, "en") for words in ("cat", "cat dog", "cat water")]
    idf = IdfTable({"en": DocumentFrequencies.count(bags)})
    hubness = HubnessSample(reranker.embeddings.version)
    first = Reranker(reranker.embeddings, idf, 2, hubness, preferred_languages=("fr",))
    again = copied(first)
    texts = ["bread water", "cat", "dog"]
    assert again.rerank("cat dog", texts, document_languages="en") == first.rerank(
        "cat dog", texts, document_languages="en"
    )
    assert (again.n_threads, again.preferred_languages) == (2, ("fr",))


def test_a_query_keeps_its_language_if_the_preferred_one_knows_no_word_of_it(reranker):
    # Both languages have a stop word in it, so that they tie; `waters` is near `water` alone.
    english, french = (Reranker(reranker.embeddings, preferred_languages=(code,)) for code in ("en", "fr"))
    query = english.query_with_unknown_words("the est waters")
    assert (query.language, query.is_tie) == ("en", True)
    assert french.query_with_unknown_words(query.text).language == "fr"
    again = french.weigh_again(query)
    assert (again.language, len(again.weighted)) == ("en", 1)
