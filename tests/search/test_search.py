"""Two-stage search over the embedded store with the hand-placed vocabulary (tests/support/tiny.py)."""

from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from reranker.base.errors import (
    BadInput,
    ClientLeft,
    MissingPackage,
    NotFound,
    StoreUnavailable,
    VersionMismatch,
    WrongParameter,
)
from reranker.embeddings.hubness import HubnessSample
from reranker.proxy.indices import Indices
from reranker.search.request import SearchRequest
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.text.documents import Document
from reranker.text.idf import DocumentFrequencies, IdfTable
from tests.stores.samples import make_index, write_documents
from tests.support.encode import encode
from tests.support.service import fill
from tests.support.tiny import POSITIONS, write_embeddings

TEXTS = {
    "e1": ("en", "cat", {"kind": "pet"}),
    "e2": ("en", "dog water", {"kind": "pet"}),
    "e3": ("en", "bread", {"kind": "food"}),
    "e4": ("en", "car water zzz", {"kind": "thing"}),
    "e5": ("en", "zzz yyy", {"kind": "thing"}),
    "f1": ("fr", "chat eau", {"kind": "pet"}),
    "f2": ("fr", "pain", {"kind": "food"}),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory, embeddings):
    store = open_store(str(tmp_path_factory.mktemp("store")))
    make_index(store, "pets", IndexDescription(embeddings.version, embeddings.dim))
    documents = [Document(doc_id, text, language, metadata=m) for doc_id, (language, text, m) in TEXTS.items()]
    bags = [(d.language, embeddings.bag(d.full_text, d.language)) for d in documents]
    idf = IdfTable({code: DocumentFrequencies.count(b for c, b in bags if c == code) for code in ("en", "fr")})
    store.save_idf("pets", idf)
    results = list(write_documents(store, "pets", [encode(document, embeddings, idf) for document in documents]))
    assert [result.error for result in results] == [None] * len(TEXTS)
    store.refresh("pets")
    yield store
    store.close()


@pytest.fixture
def searcher(store, embeddings):
    return Searcher(store, embeddings)


def found(searcher, text="chat", **options):
    options.setdefault("language", "fr")
    return [hit.id for hit in searcher.search(SearchRequest(text, "pets", **options)).hits]


def test_a_french_word_finds_the_english_document(searcher):
    assert found(searcher, filters=Filters(languages=("en",)))[0] == "e1"


def test_a_document_without_a_known_word_is_not_found_by_knn_but_by_bm25(searcher):
    assert "e5" not in found(searcher)
    assert "e5" in found(searcher, "yyy", language="en", first_stage="bm25")


def test_bm25_with_a_query_of_unknown_words_alone_keeps_the_first_stage_order(searcher):
    answer = searcher.search(SearchRequest("zzz", "pets", language="en", first_stage="bm25"))
    assert {hit.id for hit in answer.hits} == {"e4", "e5"}
    assert answer.method == "none"
    assert answer.unknown_words == ["zzz"]
    assert [hit.first_stage_rank for hit in answer.hits] == [1, 2]


def test_hybrid_joins_what_either_finds(searcher):
    hits = found(searcher, "cat zzz", language="en", first_stage="hybrid")
    assert {"e1", "e4", "e5"} <= set(hits)
    assert hits[0] == "e1"
    assert hits[-1] == "e3"  # neither word of the query, and bread is the farthest from a cat


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_hybrid_re_ranks_whatever_bm25_alone_finds_at_its_depth(searcher, depth):
    """kNN's hits are added to BM25's; they push none of them out."""
    options = {"language": "en", "depth": depth, "size": 50}
    by_bm25 = found(searcher, "dog water bread", first_stage="bm25", **{**options, "size": depth})
    hits = searcher.search(SearchRequest("dog water bread", "pets", first_stage="hybrid", **options)).hits
    assert set(by_bm25) <= {hit.id for hit in hits if hit.distance is not None}
    assert [hit.first_stage_rank for hit in sorted(hits, key=lambda hit: hit.first_stage_rank)] == [
        *range(1, len(hits) + 1)
    ]


def test_the_first_stage_auto_is_hybrid_in_one_language_and_across_languages(searcher):
    def first_stage(text, **options):
        return searcher.search(SearchRequest(text, "pets", **options)).first_stage

    assert first_stage("chat", language="fr") == "hybrid"
    assert first_stage("chat", language="fr", filters=Filters(languages=("en",))) == "hybrid"
    assert first_stage("zzz", filters=Filters(languages=("en",))) == "hybrid"  # no known word: only BM25 can find it
    assert first_stage("chat", language="fr", first_stage="knn") == "knn"


def test_translated_finds_documents_of_other_languages_by_the_nearest_words_of_theirs(searcher):
    english = {"language": "fr", "first_stage": "translated", "filters": Filters(languages=("en",)), "method": "none"}
    # The English words nearest to chat are cat and dog; water, bread and car lie on the other side.
    assert found(searcher, "chat", **english) == ["e1", "e2"]
    assert found(searcher, "zzz", **english) == ["e5", "e4"]  # a word that nobody knows stays; e5 is the shorter
    assert found(searcher, "chat", **english | {"first_stage": "bm25"}) == []


def test_translated_searches_documents_of_the_query_language_by_its_own_words(searcher):
    assert set(found(searcher, "chat", first_stage="translated", method="none")) == {"f1", "e1", "e2"}
    french = Filters(languages=("fr",))
    assert found(searcher, "chat", first_stage="translated", method="none", filters=french) == ["f1"]


def test_the_score_of_the_translated_search_is_evidence_across_languages(searcher):
    """By translations e1 (cat) scores highest and e3 (bread) not at all."""
    request = SearchRequest("chat", "pets", language="fr", filters=Filters(languages=("en",)))
    hits = {hit.id: hit for hit in searcher.search(request).hits}
    assert hits["e1"].score_parts.first_stage == pytest.approx(0.98 * 0.3)
    assert hits["e1"].score_parts.words == pytest.approx(0.98 * 0.7)
    assert 0 < hits["e2"].score_parts.first_stage < 0.98 * 0.3
    assert hits["e3"].score_parts.first_stage == 0.0
    for hit in hits.values():
        assert sum(hit.score_parts.values()) == pytest.approx(hit.score, abs=1e-6)
        if hit.distance is not None:
            assert searcher.explain(request, hit.id).score_parts == hit.score_parts
    explained = searcher.explain(request, "e1")
    (chat,) = explained["translations"]
    assert (chat["word"], [each["term"] for each in chat["translations"]]) == ("chat", ["chat", "cat", "dog"])
    alone = searcher.search(replace(request, first_stage="knn"))
    assert all(hit.score_parts is None for hit in alone.hits)


def test_the_engines_score_is_a_part_of_the_score_and_the_parts_sum_to_it(searcher):
    """Of the English documents e1 alone holds cat, so BM25 finds it alone; f1 holds its translation, f2 does not."""
    hits = {hit.id: hit for hit in searcher.search(SearchRequest("cat", "pets", language="en")).hits}
    for hit in hits.values():
        assert sum(hit.score_parts.values()) == pytest.approx(hit.score, abs=1e-6)
    share = 0.6 + 0.25**2 * 0.05  # one of the four English documents holds the query
    assert hits["e1"].score_parts.first_stage == pytest.approx(0.98 * 0.7 * share)
    assert hits["e1"].score_parts.coverage == pytest.approx(0.98 * 0.3 * share)
    assert hits["e3"].score_parts.first_stage == 0.0
    assert hits["f1"].score_parts.first_stage == pytest.approx(0.98 * 0.3)
    assert hits["f2"].score_parts.first_stage == 0.0
    # What BM25 counts less there, transport counts more.
    assert hits["f1"].score_parts.words > hits["e1"].score_parts.words
    assert hits["e1"].score == 1.0


def test_a_document_that_the_first_stage_did_not_bring_is_explained_with_nothing_from_it(searcher):
    request = SearchRequest("cat", "pets", language="en", depth=2)
    explained = searcher.explain(request, "e3")
    assert explained.score_parts.first_stage == 0.0
    assert explained.score < searcher.search(request).hits[0].score


@pytest.fixture(scope="module")
def kennel(tmp_path_factory, embeddings):
    """Thirty documents with cat, the more often the earlier; the 31st is a bread."""
    documents = [Document(f"c{n}", "cat " * (31 - n) + "dog water", "en") for n in range(1, 31)]
    documents.append(Document("bread", "a bread", "en"))
    with closing(open_store(str(tmp_path_factory.mktemp("kennel")))) as store:
        fill(store, embeddings, "pets", documents)
        yield Searcher(store, embeddings)


@pytest.mark.parametrize("method", ["auto", "emd"])
def test_an_explanation_says_where_a_document_fell_and_by_how_much(kennel, method):
    """By BM25 alone, whose order the search without re-ranking shows."""
    request = SearchRequest("cat car", "pets", language="en", first_stage="bm25", depth=20, method=method, size=31)
    hits = kennel.search(request).hits
    first = {hit.id: hit.rank for hit in kennel.search(replace(request, method="none")).hits}
    for place in (0, 9, 10, 19, 25):
        hit = hits[place]
        stands = kennel.explain(request, hit.id).standing
        assert stands.fell_at == (None if place < 10 else "score" if place < 20 else "window")
        assert stands.rank == (place + 1 if place < 20 else None)
        assert (stands.n_candidates, stands.first_stage_rank) == (20, first[hit.id])
        assert stands.lacking_query_words == ["car"]
        if place < 10:
            assert stands.score_behind is stands.parts_behind is None
        elif place < 20:
            assert stands.score_behind == pytest.approx(hits[9].score - hit.score, abs=1e-6)
        if stands.score_behind is not None and method == "auto":
            assert sum(stands.parts_behind.values()) == pytest.approx(stands.score_behind, abs=2e-6)
    lost = kennel.explain(request, "bread").standing
    assert (lost.fell_at, lost.rank, lost.first_stage_rank) == ("first_stage", None, None)
    assert lost.lacking_query_words == ["cat", "car"]


def test_a_document_behind_a_small_window_is_on_the_first_page(kennel):
    """Where fewer are re-ranked than the page holds, its last places are in the first stage's order."""
    request = SearchRequest("cat car", "pets", language="en", first_stage="bm25", depth=4, size=31)
    for place, hit in enumerate(kennel.search(request).hits[:14]):
        stands = kennel.explain(request, hit.id).standing
        assert (stands.fell_at, stands.rank) == (None if place < 10 else "window", place + 1 if place < 4 else None)


def test_words_that_a_document_lacks_are_named_with_their_nearest(searcher):
    """cat and chat are at 0.96; qqq has no embedding."""
    stands = searcher.explain(SearchRequest("cat qqq", "pets", language="en"), "f1").standing
    assert stands.lacking_query_words == ["cat", "qqq"]
    assert [(near.query_word, near.word, near.likeness) for near in stands.near_words] == [("cat", "chat", 0.96)]
    assert searcher.explain(SearchRequest("cats", "pets", language="en"), "e1").standing.lacking_query_words == []


@pytest.mark.parametrize("first_stage", ["knn", "hybrid"])
@pytest.mark.parametrize("depth", [1, 2, 3, 10])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_pages_of_any_size_hold_each_hit_once_in_one_order(searcher, first_stage, depth, size):
    options = {"first_stage": first_stage, "depth": depth}
    everything = found(searcher, "chat eau", size=50, **options)
    pages = [found(searcher, "chat eau", offset=at, size=size, **options) for at in range(0, 12, size)]
    assert [doc_id for page in pages for doc_id in page] == everything
    assert len(everything) == len(set(everything))


class Wrapped:
    """A store, or an index of it, that does as another but for some methods."""

    def __init__(self, wrapped):
        self._wrapped = wrapped

    def __getattr__(self, name):
        return getattr(self._wrapped, name)


class Approximate(Wrapped):
    """A store whose nearest neighbours, like an engine's, depend on how far the graph is walked."""

    def open(self, index):
        return ApproximateIndex(self._wrapped.open(index))


class ApproximateIndex(Wrapped):
    def knn(self, vector, depth, filters, rights):
        found = self._wrapped.knn(vector, 100, filters)
        missed = found.pop(2) if depth < 6 else None  # a short walk misses the third
        assert missed or depth >= 6
        return [replace(one, first_stage_rank=rank) for rank, one in enumerate(found[:depth], start=1)]


def test_pages_agree_where_the_first_stage_is_approximate(store, embeddings):
    searcher = Searcher(Approximate(store), embeddings)
    pages = [found(searcher, "chat eau", offset=at, size=2, depth=1) for at in range(0, 8, 2)]
    hits = [doc_id for page in pages for doc_id in page]
    assert sorted(hits) == sorted(found(searcher, "chat eau", size=50, depth=50))


class LosesDocuments(Wrapped):
    """A store in which documents are deleted after the first stage found them; keeps the ids that are asked for."""

    def __init__(self, store, lost):
        super().__init__(store)
        self._lost = lost
        self.asked_for = []

    def open(self, index):
        losing = LosesDocuments(self._wrapped.open(index), self._lost)
        losing.asked_for = self.asked_for
        return losing

    def documents(self, doc_ids, rights):
        self.asked_for.append(list(doc_ids))
        return self._wrapped.documents([doc_id for doc_id in doc_ids if doc_id not in self._lost])


@pytest.mark.parametrize("method", ["none", "sinkhorn"])
@pytest.mark.parametrize("depth", [2, 100])
def test_a_document_deleted_during_the_search_is_left_out_and_the_others_keep_their_ranks(
    store, embeddings, method, depth
):
    request = SearchRequest("chat eau", "pets", language="fr", first_stage="knn", method=method, depth=depth)
    whole = Searcher(store, embeddings).search(request).hits
    lost = whole[1].id
    hits = Searcher(LosesDocuments(store, {lost}), embeddings).search(request).hits
    assert hits == [hit for hit in whole if hit.id != lost]


def test_the_texts_of_the_page_alone_are_read(store, embeddings):
    watched = LosesDocuments(store, set())
    hits = (
        Searcher(watched, embeddings)
        .search(SearchRequest("chat eau", "pets", language="fr", first_stage="knn", offset=1, size=2))
        .hits
    )
    assert watched.asked_for == [[hit.id for hit in hits]]
    assert [hit.text for hit in hits] == [TEXTS[hit.id][1] for hit in hits]


def test_hits_behind_the_window_score_below_it_and_have_no_distance(searcher):
    hits = searcher.search(SearchRequest("chat", "pets", language="fr", depth=2, size=10, first_stage="knn")).hits
    assert [hit.distance is None for hit in hits] == [False] * 2 + [True] * (len(hits) - 2)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_method_none_is_the_first_stage(searcher):
    answer = searcher.search(SearchRequest("chat", "pets", language="fr", method="none"))
    assert [hit.first_stage_rank for hit in answer.hits] == [hit.rank for hit in answer.hits]
    assert answer.method == "none"


def test_a_hit_says_what_moved_it_besides_its_distance_and_an_explanation_sums_it_up(searcher):
    """e4 alone holds zzz, which has no embedding; half of the query."""
    request = SearchRequest("water zzz", "pets", language="en", filters=Filters(languages=("en",)), first_stage="knn")
    hits = searcher.search(request).hits
    by_id = {hit.id: hit for hit in hits}
    assert hits[0].id == "e4"
    assert by_id["e4"].lacking_words == []
    for doc_id in ("e1", "e2", "e3"):
        hit = by_id[doc_id]
        assert hit.lacking_words == ["zzz"]
        assert hit.order_distance == pytest.approx(0.5 * hit.distance + 0.5)
        assert hit.score == pytest.approx(1 / (1 + hit.order_distance), abs=1e-6)
        shown = searcher.explain(request, doc_id)
        assert shown["order_distance"] == pytest.approx(hit.order_distance, abs=1e-5)
        assert sum(shown["order_parts"].values()) == pytest.approx(shown["order_distance"])
        assert shown["order_parts"]["words"] == pytest.approx(0.5 * sum(word["distance"] for word in shown["words"]))
        assert (shown["lacking_words"], shown["unknown_share"], shown["score"]) == (["zzz"], 0.5, hit.score)
        plain = searcher.explain(replace(request, method="sinkhorn"), doc_id)
        assert plain["order_distance"] == plain["distance"]


def test_the_hubness_sample_of_the_index_orders_its_hits(store, embeddings):
    """No document but e1 is near the sample's queries, which are all cats: its hubness is that of cat, 1."""
    before = store.open("pets").hubness_sample()
    cat = embeddings.bag_of_tokens(["cat"], "en")
    sample = HubnessSample.of(embeddings.version, [("en", str(number), cat) for number in range(60)])
    try:
        store.save_hubness_sample("pets", sample)
        hits = Searcher(store, embeddings).search(SearchRequest("cat", "pets", language="en")).hits
        found = {hit.id: hit for hit in hits}
        assert found["e1"].hubness == pytest.approx(1.0)
        assert found["e3"].hubness == 0.0  # bread, its opposite
        assert found["e1"].order_distance == pytest.approx(found["e1"].distance + 0.2)
        french = Searcher(store, embeddings).search(SearchRequest("chat", "pets", language="fr")).hits
        assert [hit.hubness for hit in french] == [None] * len(french)
    finally:
        store.save_hubness_sample("pets", before)


def test_a_document_that_a_full_run_of_bm25_left_out_has_the_lowest_score_of_the_run(searcher):
    request = SearchRequest("dog water", "pets", language="en", depth=1, filters=Filters(languages=("en",)))
    parts = searcher.explain(request, "e4").score_parts  # it holds water, and is BM25's second
    # As the only other score: all of the share of first stage and coverage, 0.6 to 0.65.
    assert 0.98 * 0.6 <= parts.first_stage <= 0.98 * 0.65


def test_an_index_of_other_embeddings_is_refused_with_the_command_that_rebuilds_it(store, embeddings):
    make_index(store, "stale", IndexDescription("other", embeddings.dim))
    try:
        with pytest.raises(VersionMismatch, match="sinkrank ingest FILE --index stale --rebuild"):
            Searcher(store, embeddings).search(SearchRequest("chat", "stale"))
    finally:
        store.drop("stale")


@pytest.mark.parametrize("first_stage", ["bm25", "knn", "translated", "hybrid"])
def test_an_open_index_that_is_rebuilt_with_other_embeddings_is_refused_at_once(
    store, embeddings, tmp_path, first_stage
):
    backwards = {language: dict(reversed(words.items())) for language, words in POSITIONS.items()}
    other = write_embeddings(tmp_path / "other", backwards)  # the same words by other term ids
    document, request = Document("1", "cat", "en"), SearchRequest("cat", "anew", language="en", first_stage=first_stage)
    versions = []
    for made_with in (embeddings, embeddings, other):
        versions.append(store.stage("anew", IndexDescription(made_with.version, made_with.dim)))
        (result,) = write_documents(store, versions[-1], [encode(document, made_with, IdfTable({}))])
        assert result.error is None
    searcher = Searcher(store, embeddings, clock=lambda: 0.0)
    try:
        for version in versions[:2]:  # a rebuild with the same embeddings is searched at once
            store.promote("anew", version)
            assert [hit.id for hit in searcher.search(request).hits] == ["1"]
        store.promote("anew", versions[2])
        with pytest.raises(VersionMismatch, match="sinkrank ingest FILE --index anew --rebuild"):
            searcher.search(request)
        with pytest.raises(VersionMismatch):
            searcher.explain(request, "1")
    finally:
        store.drop("anew")


class OpensVersions(Wrapped):
    """A store whose open indices, like an engine's, are those of one version."""

    serving = ""

    def open(self, index):
        return self._wrapped.open(self.serving)


@pytest.mark.parametrize("is_explained", [False, True])
def test_an_index_is_opened_again_when_a_second_rebuild_has_deleted_the_open_version(store, embeddings, is_explained):
    versions, serves = [], OpensVersions(store)
    for doc_id in ("old", "new"):
        versions.append(store.stage("twice", IndexDescription(embeddings.version, embeddings.dim)))
        list(write_documents(store, versions[-1], [encode(Document(doc_id, "cat", "en"), embeddings, IdfTable({}))]))
    searcher, request = Searcher(serves, embeddings, clock=lambda: 0.0), SearchRequest("cat", "twice", language="en")
    for serves.serving, doc_id in zip(versions, ("old", "new"), strict=True):
        if is_explained:
            assert searcher.explain(request, doc_id).id == doc_id
        else:
            assert [hit.id for hit in searcher.search(request).hits] == [doc_id]
        store.drop(serves.serving)
    with pytest.raises(NotFound):
        searcher.search(request)


def test_a_search_whose_method_lacks_its_package_is_tried_once_and_the_index_stays_open(store, embeddings, monkeypatch):
    opened, tried = [], []

    class Counting(Wrapped):
        def open(self, index):
            opened.append(index)
            return self._wrapped.open(index)

    def lacking():
        tried.append("emd")
        raise MissingPackage("emd needs POT")

    monkeypatch.setattr("reranker.transport.exact._solver", lacking)
    searcher = Searcher(Counting(store), embeddings, clock=lambda: 0.0)
    with pytest.raises(MissingPackage):
        searcher.search(SearchRequest("cat", "pets", language="en", method="emd"))
    assert (opened, tried) == (["pets"], ["emd"])


def test_the_only_index_is_chosen_where_none_is_named(searcher):
    assert searcher.choose_index(None) == "pets"
    assert searcher.choose_index("other") == "other"


class Recounted(Wrapped):
    """A store, or an index of it, with these document frequencies and this sample in place of its own."""

    def __init__(self, wrapped, given):
        super().__init__(wrapped)
        self.given = given

    def open(self, index):
        return Recounted(self._wrapped.open(index), self.given)

    def idf(self):
        return self.given.get("idf") or self._wrapped.idf()

    def hubness_sample(self):
        return self.given.get("sample") or self._wrapped.hubness_sample()


def test_an_index_is_read_again_after_a_while_and_what_is_made_of_it_stays_until_it_changes(store, embeddings):
    now, given = [0.0], {}
    searcher = Searcher(Recounted(store, given), embeddings, clock=lambda: now[0])
    before = searcher.open("pets")
    assert searcher.open("pets") is before
    now[0] = 31.0
    again = searcher.open("pets")
    assert again.read_at == 31.0
    assert (again.reranker, again.translator) == (before.reranker, before.translator)
    recounted = IdfTable({"en": DocumentFrequencies(9, np.array([0], np.int32), np.array([4], np.int32))})
    for seconds, change in ((62.0, {"idf": recounted}), (93.0, {"sample": HubnessSample(embeddings.version)})):
        now[0] = seconds
        given |= change
        changed = searcher.open("pets")
        assert changed.reranker is not before.reranker
        before = changed


class Failing(Wrapped):
    """A store that fails to open an index with the error that it is given."""

    error = None

    def open(self, index):
        if self.error is not None:
            raise self.error
        return self._wrapped.open(index)


def test_an_index_is_searched_as_it_was_while_the_store_cannot_say_what_it_is(store, embeddings):
    now, failing = [0.0], Failing(store)
    searcher = Searcher(failing, embeddings, clock=lambda: now[0])
    hits = found(searcher)
    failing.error = StoreUnavailable("the cluster has no manager")
    now[0] = 31.0
    assert found(searcher) == hits
    failing.error = NotFound("it was deleted")
    now[0] = 62.0
    with pytest.raises(NotFound):
        found(searcher)
    failing.error = StoreUnavailable("the cluster has no manager")
    with pytest.raises(StoreUnavailable):
        found(searcher)


def test_a_client_that_leaves_while_an_index_is_read_again_changes_nothing_for_others(store, embeddings):
    now, failing = [0.0], Failing(store)
    searcher = Searcher(failing, embeddings, clock=lambda: now[0])
    indices = Indices(SimpleNamespace(store=store, searcher=searcher), None, clock=lambda: now[0])
    reranker = searcher.open("pets").reranker
    now[0], failing.error = 31.0, ClientLeft("it closed its connection")
    with pytest.raises(ClientLeft):
        indices.is_ours("pets")
    failing.error = None
    assert indices.is_ours("pets")
    opened = searcher.open("pets")
    assert (opened.read_at, opened.reranker) == (31.0, reranker)  # read again, and what was made of it is kept


def test_the_query_whose_words_do_not_tell_has_the_language_of_the_setting_or_the_index(store, embeddings):
    counts = store.open("pets").languages()
    assert max(counts, key=counts.get) == "en"

    def language(text, query_language=None):
        searcher = Searcher(store, embeddings, query_language=query_language)
        return searcher.search(SearchRequest(text, "pets", first_stage="bm25")).language

    assert (language("cat chat"), language("cat chat", "en")) == ("en", "en")
    assert (language("cat chat", "fr"), language("12 yyy", "fr"), language("12 yyy")) == ("fr", "fr", "en")
    assert (language("cat dog chat", "fr"), language("chat chien cat", "en")) == ("en", "fr")


def test_a_query_whose_embeddings_cancel_out_is_found_by_its_words(searcher):
    # cat (1, 0) and bread (-1, 0) stand in one document each, so they weigh the same and their mean is nothing.
    english = Filters(languages=("en",))
    assert set(found(searcher, "cat bread", language="en", filters=english)) == {"e1", "e3"}
    assert set(found(searcher, "cat bread", language="en")) == {"e1", "e3", "f1", "f2"}


@pytest.mark.parametrize(("weight", "alone"), [(1.0, "knn"), (0.0, "translated")])
def test_a_fusion_of_one_weight_is_that_first_stage(searcher, weight, alone):
    fused = found(searcher, "cat water", language="en", first_stage="hybrid", knn_weight=weight, method="none")
    assert fused == found(searcher, "cat water", language="en", first_stage=alone, method="none")


def test_a_heavier_run_counts_more_in_the_fusion(searcher):
    options = {"language": "en", "first_stage": "hybrid", "method": "none"}
    even = searcher.search(SearchRequest("cat water", "pets", **options))
    skewed = searcher.search(SearchRequest("cat water", "pets", knn_weight=0.75, **options))
    by_knn = found(searcher, "cat water", language="en", first_stage="knn", method="none")
    by_bm25 = found(searcher, "cat water", language="en", first_stage="bm25", method="none")
    score = {hit.id: hit.first_stage_score for hit in skewed.hits}
    first = by_knn[0]
    bm25 = 0.5 / (60 + by_bm25.index(first) + 1) if first in by_bm25 else 0.0
    assert score[first] == pytest.approx(1.5 / 61 + bm25)
    assert {hit.id for hit in even.hits} == set(score)


@pytest.mark.parametrize("weight", [-0.1, 1.5, float("nan")])
def test_a_weight_that_is_no_share_is_refused(weight):
    with pytest.raises(BadInput, match="knn_weight"):
        SearchRequest("cat", "pets", knn_weight=weight)


@pytest.fixture(scope="module")
def titled(tmp_path_factory, embeddings):
    """A page whose title is "Cat!" and whose text is of other things, and a page that says no more than "cat"."""
    store = open_store(str(tmp_path_factory.mktemp("titled")))
    make_index(store, "titled", IndexDescription(embeddings.version, embeddings.dim))
    pages = [
        Document("titled", "bread water car bread water car", "en", title="Cat!"),
        Document("short", "cat", "en"),
        Document("far", "cat car car car", "en"),
    ]
    list(write_documents(store, "titled", [encode(page, embeddings, IdfTable()) for page in pages]))
    store.refresh("titled")
    yield Searcher(store, embeddings)
    store.close()


@pytest.mark.parametrize("first_stage", ["auto", "bm25"])
@pytest.mark.parametrize("text", ["cat", "  CAT"])
def test_a_page_whose_title_is_the_query_is_as_near_as_can_be(titled, first_stage, text):
    """All hits hold the query, so the words have 0.35 of the score, which is 0.98 beside what every candidate has."""
    answer = titled.search(SearchRequest(text, "titled", language="en", first_stage=first_stage))
    words = {hit.id: hit.score_parts.words for hit in answer.hits}
    assert words["titled"] == pytest.approx(0.98 * 0.35)
    assert words["short"] == pytest.approx(0.98 * 0.35)
    assert words["far"] < 0.98 * 0.35


def test_a_title_that_has_one_more_word_is_no_exact_one(titled):
    answer = titled.search(SearchRequest("cat dog", "titled", language="en"))
    words = {hit.id: hit.score_parts.words for hit in answer.hits}
    assert words["titled"] < 0.98 * 0.2


def test_an_explanation_counts_an_exact_title_as_the_search_does(titled):
    request = SearchRequest("cat", "titled", language="en")
    (hit,) = [hit for hit in titled.search(request).hits if hit.id == "titled"]
    assert titled.explain(request, "titled").score_parts == hit.score_parts


def test_a_page_with_more_bytes_than_the_request_allows_is_refused(searcher):
    """e1 and f1: `cat` and `chat eau`, each with the metadata `{"kind": "pet"}`."""
    request = SearchRequest("chat", "pets", language="fr", size=2)
    assert found(searcher, size=2) == ["e1", "f1"]
    n_bytes = len("chat eau" + "cat" + 2 * '{"kind": "pet"}')
    assert len(searcher.search(replace(request, max_bytes=n_bytes)).hits) == 2
    with pytest.raises(WrongParameter, match=f"more than {n_bytes - 1} bytes; give a smaller size"):
        searcher.search(replace(request, max_bytes=n_bytes - 1))
