"""Many queries at once, on the array libraries that are there: NumPy always, torch and CuPy where installed."""

import importlib.util
import sys

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.bags import WeightedBag, WeightedBags
from reranker.errors import BadEmbeddings, BadInput, EmptyQuery, WrongParameter
from reranker.transport import METHODS, Parameters, distances, problem
from reranker.transport.device import Device, DeviceEmbeddings, devices, distances_many, open_device, pairs
from tests.transport.conftest import bag, exact_cost
from tests.transport.test_sinkhorn import pot_distance

LIBRARIES = {"cpu": "numpy", "torch:cpu": "torch", "cuda": "torch", "cupy": "cupy"}
NAMES = [name for name, library in LIBRARIES.items() if importlib.util.find_spec(library)]
ON_DEVICE = [method for method in METHODS if method != "emd"]
NOTHING = WeightedBag(np.empty(0, np.int32), np.empty(0))
WAYS = [
    *((method, Parameters()) for method in ON_DEVICE),
    ("sinkhorn", Parameters(0.02, 20)),
    ("sinkhorn", Parameters(0.001, 20)),
    ("relaxed", Parameters(0.05, 20, tau=0.3)),
    ("relaxed", Parameters(tau=0.0)),
    ("auto", Parameters(0.002, 10)),
    ("rwmd", Parameters(cost="cosine")),
    ("sinkhorn", Parameters(0.02, 20, cost="cosine")),
    ("sinkhorn", Parameters(stop_at=1e-3, over_relaxed=True)),
    ("relaxed", Parameters(0.01, 40, stop_at=1e-5, over_relaxed=True)),
]


def ident(value):
    return f"{value.epsilon}-{value.tau}-{value.over_relaxed}" if isinstance(value, Parameters) else str(value)


@pytest.fixture(scope="module", params=NAMES)
def device(request):
    try:
        return open_device(request.param)
    except WrongParameter as error:
        if request.param in ("cuda", "cupy"):
            pytest.skip(str(error))
        raise


@pytest.fixture
def held(table, device):
    return DeviceEmbeddings.upload(table, device)


@pytest.fixture
def queries(random_bag):
    return [random_bag(k) for k in (19, 1, 8, 9, 3, 40)]


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(1 + 7 * (k % 7)) for k in range(14)] + [NOTHING, random_bag(120)])


def assert_as_one_by_one(found, queries, candidates, table, method, parameters, atol=2e-6):
    assert len(found) == len(queries)
    for got, query, documents in zip(found, queries, candidates, strict=True):
        expected = distances(query, documents, table, method, parameters, implementation="reference")
        np.testing.assert_allclose(got.values, expected.values, atol=atol)
        np.testing.assert_allclose(got.marginal_error, expected.marginal_error, atol=atol)
        np.testing.assert_array_equal(got.converged, expected.converged)
        assert got.method == expected.method


@pytest.mark.parametrize(("method", "parameters"), WAYS, ids=ident)
def test_many_queries_get_what_each_gets_alone(held, table, queries, documents, method, parameters):
    found = distances_many(queries, documents, held, method, parameters)
    assert_as_one_by_one(found, queries, [documents] * len(queries), table, method, parameters)
    compiled = distances(queries[0], documents, table, method, parameters)
    assert found[0].precision == compiled.precision


@pytest.mark.parametrize("method", ["nbow", "rwmd", "auto"])
def test_each_query_may_have_candidates_of_its_own(held, table, queries, random_bag, method):
    lists = [WeightedBags.join([random_bag(1 + 5 * (j % 6)) for j in range(k)]) for k in (3, 0, 1, 7, 2, 5)]
    found = distances_many(queries, lists, held, method)
    assert [len(one.values) for one in found] == [3, 0, 1, 7, 2, 5]
    assert_as_one_by_one(found, queries, lists, table, method, Parameters())


@pytest.mark.parametrize("max_bytes", [1, 30_000, 300_000])
@pytest.mark.parametrize("method", ["nbow", "rwmd", "sinkhorn"])
def test_little_memory_gives_the_same_values(held, queries, documents, method, max_bytes):
    parameters = Parameters(0.05, 8)
    whole = distances_many(queries, documents, held, method, parameters)
    parts = distances_many(queries, documents, held, method, parameters, max_bytes=max_bytes)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(other.values, one.values, atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.03, 0.003])
def test_sinkhorn_is_that_of_pot(held, table, random_bag, epsilon):
    query, documents = random_bag(17), [random_bag(k) for k in (1, 2, 30, 300)]
    expected = [pot_distance(query, document, table, epsilon) for document in documents]
    (found,) = distances_many([query], WeightedBags.join(documents), held, "sinkhorn", Parameters(epsilon, stop_at=0))
    np.testing.assert_allclose(found.values, expected, rtol=1e-4)


def test_the_log_domain_is_that_of_pot(held, table, random_bag):
    query, document = random_bag(8), random_bag(20)
    plan = ot.sinkhorn(
        query.weights, document.weights, exact_cost(query, document, table), 0.001, "sinkhorn_log", numItermax=3000,
        stopThr=1e-12, warn=False,
    )  # fmt: skip
    assert plan.sum() == pytest.approx(1, abs=1e-9)
    expected = (plan * exact_cost(query, document, table)).sum()
    (found,) = distances_many([query], WeightedBags.join([document]), held, "sinkhorn", Parameters(0.001, 3000))
    assert found.precision == "log"
    np.testing.assert_allclose(found.values, [expected], rtol=1e-4)


def _bags(n_terms: int) -> st.SearchStrategy[WeightedBag]:
    def make(parts: list[tuple[int, int]]) -> WeightedBag:
        weights = np.array([weight for _, weight in parts], np.float64)
        return WeightedBag(np.array([term for term, _ in parts], np.int32), weights / weights.sum())

    return st.lists(st.tuples(st.integers(0, n_terms - 1), st.integers(1, 1000)), min_size=1, max_size=9).map(make)


@settings(max_examples=25, deadline=None)
@given(st.lists(_bags(30), min_size=1, max_size=4), st.lists(_bags(30), min_size=1, max_size=5), st.data())
def test_any_bags_get_what_each_gets_alone(device, queries, documents, data):
    """Repeated words too; terms 0 and 1 are one vector, 2 is near them, 3 is on the other side."""
    rows = np.random.default_rng(5).standard_normal((30, 3)).astype(np.float32)
    rows[1], rows[2], rows[3] = rows[0], rows[0] + 1e-3, -rows[0]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    method, parameters = data.draw(st.sampled_from(WAYS))
    bags = WeightedBags.join(documents)
    found = distances_many(queries, bags, DeviceEmbeddings.upload(rows, device), method, parameters)
    for got, query in zip(found, queries, strict=True):
        expected = distances(query, bags, rows, method, parameters, implementation="reference")
        # A pair that stops an iteration earlier than in double is within its stopping rule.
        atol = 5e-6 if parameters.stop_at is None else 2 * parameters.stop_at
        np.testing.assert_allclose(got.values, expected.values, atol=atol)


def test_words_by_hand(device, circle):
    """Chords: 0° to 180° is 2, 90° to 180° is sqrt 2; a document of one word takes all the mass."""
    query, document = bag([0, 2], [0.25, 0.75]), WeightedBags.join([bag([3], [1.0])])
    for method in ("rwmd", "sinkhorn", "relaxed"):
        (found,) = distances_many([query], document, DeviceEmbeddings.upload(circle, device), method)
        np.testing.assert_allclose(found.values, [0.25 * 2 + 0.75 * 2**0.5], rtol=1e-6)


@pytest.mark.parametrize("method", ["nbow", "rwmd", "sinkhorn"])
def test_a_document_equal_to_the_query_is_at_distance_zero(held, random_bag, method):
    query = random_bag(40)
    (found,) = distances_many([query], WeightedBags.join([query]), held, method, Parameters(0.005))
    np.testing.assert_allclose(found.values, [0], atol=3e-7)


def test_near_words_have_their_cost_from_the_difference(device):
    """At an angle of 1e-4 the chord is 1e-4; sqrt(2 - 2g) of float32 would be 0, or off by a third of it at least."""
    rows = np.array([[1, 0], [np.cos(1e-4), np.sin(1e-4)], [0.6, 0.8]], dtype=np.float32)
    held = DeviceEmbeddings.upload(rows, device)
    documents = WeightedBags.join([bag([1], [1.0]), bag([2], [1.0])])
    (found,) = distances_many([bag([0], [1.0])], documents, held, "rwmd")
    np.testing.assert_allclose(found.values, [1e-4, 0.8**0.5], rtol=1e-4)


@pytest.mark.parametrize("epsilon", [0.02, 0.001])
def test_in_double_the_norms_of_rows_count(device, table, random_bag, epsilon):
    """Rows from half precision have norms off by some 1e-4: taken for 1 they would move costs by as much."""
    rows = table.astype(np.float16).astype(np.float32)
    query, documents, parameters = random_bag(9), WeightedBags.join([random_bag(12)]), Parameters(epsilon, 20)
    (found,) = distances_many([query], documents, DeviceEmbeddings.upload(rows, device), "sinkhorn", parameters)
    expected = distances(query, documents, rows, "sinkhorn", parameters, implementation="reference")
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.03, 0.01])
def test_tiny_weights_between_opposite_words_are_within_range(circle, device, epsilon):
    """All mass but 1e-30 goes from 0° to 180°: the kernel is at its smallest, and that weight is next to nothing."""
    query, document = bag([0, 1], [1 - 1e-30, 1e-30]), bag([3, 5], [1 - 1e-30, 1e-30])
    held = DeviceEmbeddings.upload(circle, device)
    (found,) = distances_many([query], WeightedBags.join([document, query]), held, "sinkhorn", Parameters(epsilon))
    np.testing.assert_allclose(found.values, [2.0, 0.0], atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.02, 0.015, 0.001])
def test_float32_that_runs_out_of_range_is_done_again_in_the_log_domain(circle, device, epsilon, monkeypatch):
    """exp(-2 / 0.02) has one digit in float32, exp(-2 / 0.015) none. One word at 0°, so there is but one plan."""
    monkeypatch.setattr(problem, "FLOAT32_FROM_EPSILON", 0.0005)
    documents = WeightedBags.join([bag([1, 3], [0.3, 0.7]), bag([3], [1.0]), bag([0], [1.0])])
    held = DeviceEmbeddings.upload(circle, device)
    (found,) = distances_many([bag([0], [1.0])], documents, held, "sinkhorn", Parameters(epsilon, 5))
    assert found.precision == "float32"
    np.testing.assert_allclose(found.values, [0.3 * 1 + 0.7 * 2, 2.0, 0.0], rtol=1e-6)
    assert found.converged.all()


def test_words_of_no_weight_change_nothing(held):
    documents = WeightedBags.join([bag([7, 3, 8], [0.5, 0.0, 0.5]), bag([7, 8], [0.5, 0.5])])
    for method in ON_DEVICE:
        found = distances_many([bag([5, 1, 2], [0.0, 0.4, 0.6]), bag([1, 2], [0.4, 0.6])], documents, held, method)
        values = np.concatenate([one.values for one in found])
        np.testing.assert_allclose(values, values[0], rtol=1e-6)


def test_candidates_without_words_are_at_infinity_and_no_candidates_give_no_distances(held, random_bag):
    for method in ON_DEVICE:
        found = distances_many(
            [random_bag(4)] * 2, [WeightedBags.join([NOTHING] * 2), WeightedBags.join([])], held, method
        )
        assert found[0].values.tolist() == [np.inf, np.inf]
        assert found[0].converged.tolist() == [True, True]
        assert found[1].values.shape == found[1].converged.shape == found[1].marginal_error.shape == (0,)


def test_no_queries_give_nothing(held, documents):
    assert distances_many([], documents, held) == []
    assert distances_many([], [], held) == []


def test_embeddings_are_taken_as_they_lie_too(table, queries, documents):
    uploaded = DeviceEmbeddings.upload(table, "cpu")
    for one, other in zip(
        distances_many(queries, documents, table, device="cpu"),
        distances_many(queries, documents, uploaded),
        strict=True,
    ):
        np.testing.assert_array_equal(one.values, other.values)
    with pytest.raises(WrongParameter, match="device is 'cuda', and the embeddings lie on 'cpu'"):
        distances_many(queries, documents, uploaded, device="cuda")


def test_a_memory_map_is_uploaded_in_parts(table, device, tmp_path, monkeypatch):
    monkeypatch.setattr("reranker.transport.device.embeddings._BLOCK_ROWS", 33)
    np.save(tmp_path / "table.npy", table)
    held = DeviceEmbeddings.upload(np.load(tmp_path / "table.npy", mmap_mode="r"), device)
    np.testing.assert_array_equal(device.fetch(held.rows), table)


class TestBadInput:
    def test_emd_is_refused_with_a_cure(self, table, queries, documents):
        with pytest.raises(WrongParameter, match=r"'emd' has no form for a device; use reranker.transport.distances"):
            distances_many(queries, documents, table, "emd")

    def test_an_unknown_method_is_refused(self, table, queries, documents):
        with pytest.raises(BadInput, match="did you mean 'sinkhorn'"):
            distances_many(queries, documents, table, "sinkhron")

    def test_an_empty_query_is_named(self, table, queries, documents):
        with pytest.raises(EmptyQuery, match="query 1: the query has no known word"):
            distances_many([queries[0], NOTHING], documents, table)

    def test_bad_candidates_are_named(self, table, queries, documents):
        bad = WeightedBags.join([bag([0], [0.9])])
        with pytest.raises(BadInput, match=r"candidates of query 1: document weights of candidate 0 sum to 0.9"):
            distances_many(queries[:2], [documents, bad], table)
        with pytest.raises(BadInput, match=r"document weights of candidate 0 sum to 0.9"):
            distances_many(queries[:2], bad, table)

    def test_one_list_of_candidates_for_each_query_is_asked_for(self, table, queries, documents):
        with pytest.raises(BadInput, match="1 lists of candidates came with 6 queries; give one for each"):
            distances_many(queries, [documents], table)

    def test_no_memory_is_refused(self, table, queries, documents):
        with pytest.raises(BadInput, match="max_bytes is 0; give 1 or more"):
            distances_many(queries, documents, table, max_bytes=0)

    @pytest.mark.parametrize("method", ON_DEVICE)
    @pytest.mark.parametrize(("term_id", "column"), [(0, 0), (3, 1)])
    def test_an_embedding_that_is_not_finite_is_named(self, circle, device, method, term_id, column):
        circle[term_id, column] = np.nan
        held = DeviceEmbeddings.upload(circle, device)
        documents = WeightedBags.join([bag([2, 3], [0.5, 0.5]), bag([1], [1.0])])
        with pytest.raises(BadEmbeddings, match=f"embedding of term {term_id} is not finite"):
            distances_many([bag([0, 1], [0.5, 0.5])], documents, held, method)

    def test_an_embedding_that_is_not_used_may_be_anything(self, circle, device):
        circle[6] = np.nan
        held = DeviceEmbeddings.upload(circle, device)
        (found,) = distances_many([bag([0], [1.0])], WeightedBags.join([bag([1], [1.0])]), held)
        np.testing.assert_allclose(found.values, [1.0], rtol=1e-6)

    def test_embeddings_of_another_shape_are_refused(self, queries, documents):
        with pytest.raises(BadInput, match="give \\(n_terms, dim\\) float32"):
            distances_many(queries, documents, np.zeros(4, np.float32))


class TestDevices:
    @pytest.mark.parametrize("name", ["tpu", "cuda:x", "torch:", "CPU", ""])
    def test_an_unknown_device_is_refused_with_what_there_is(self, name):
        with pytest.raises(WrongParameter, match=f"device is '{name}'; give 'cpu'"):
            open_device(name)

    @pytest.mark.parametrize("name", ["cuda", "cuda:1", "torch:cpu"])
    def test_without_torch_the_cure_is_named(self, name, monkeypatch):
        monkeypatch.setattr(devices, "_installed", lambda package: package == "array_api_compat")
        monkeypatch.setitem(sys.modules, "array_api_compat.torch", None)
        with pytest.raises(WrongParameter, match=r"needs torch.*; pip install 'sinkrank\[gpu\]'"):
            open_device(name)

    def test_without_the_array_api_the_cure_is_named(self, monkeypatch):
        monkeypatch.setattr(devices, "_installed", lambda package: False)
        monkeypatch.setitem(sys.modules, "array_api_compat.numpy", None)
        with pytest.raises(WrongParameter, match=r"needs array_api_compat.*; pip install 'sinkrank\[gpu\]'"):
            open_device("cpu")

    def test_cuda_is_cupy_where_torch_is_missing(self, monkeypatch):
        monkeypatch.setattr(devices, "_installed", lambda package: package != "torch")
        assert devices._library_and_place("cuda") == ("cupy", None)
        monkeypatch.setattr(devices, "_installed", lambda package: True)
        assert devices._library_and_place("cuda") == ("torch", "cuda")

    def test_a_device_that_does_not_answer_is_told_with_its_own_words(self):
        pytest.importorskip("torch")
        with pytest.raises(WrongParameter, match=r"device 'torch:nonsense' cannot be used .*nonsense.*; look"):
            open_device("torch:nonsense")

    def test_products_that_torch_would_round_are_refused(self, table, queries, documents):
        torch = pytest.importorskip("torch")
        held = DeviceEmbeddings.upload(table, "torch:cpu")
        torch.set_float32_matmul_precision("high")
        try:
            with pytest.raises(BadInput, match=r"matmul precision is 'high'.*set_float32_matmul_precision"):
                distances_many(queries, documents, held)
        finally:
            torch.set_float32_matmul_precision("highest")


class StrictDevice(Device):
    """The array API standard and nothing beyond it."""

    def fetch(self, array):
        return np.array(np.from_dlpack(array))


@pytest.mark.parametrize(("method", "parameters"), WAYS, ids=ident)
def test_nothing_but_the_standard_is_used(table, random_bag, method, parameters):
    held = DeviceEmbeddings.upload(table, StrictDevice("strict", pytest.importorskip("array_api_strict")))
    queries, documents = [random_bag(3), random_bag(12)], WeightedBags.join([random_bag(5), NOTHING, random_bag(9)])
    found = distances_many(queries, documents, held, method, parameters)
    assert_as_one_by_one(found, queries, [documents] * 2, table, method, parameters)


class TestParts:
    def test_a_text_is_filled_up_by_half_of_its_words_at_most(self):
        lengths = np.arange(1, 3000)
        assert (pairs.bucket(lengths) >= lengths).all()
        assert (pairs.bucket(lengths) <= 1.5 * lengths).all()

    def test_batches_hold_every_document_once_and_no_more_than_allowed(self, random_bag):
        lengths = np.random.default_rng(1).integers(1, 300, 500)
        batches = list(pairs.batches(lengths, 16, 40_000))
        np.testing.assert_array_equal(np.sort(np.concatenate(batches)), np.arange(500))
        for batch in batches:
            assert len(batch) * lengths[batch].max() * 16 <= 40_000
            assert lengths[batch].max() <= 1.5 * lengths[batch].min() + 1

    @pytest.mark.parametrize("max_entries", [1, 8000, 10**9])
    def test_groups_hold_every_pair_once_and_no_more_than_allowed(self, queries, documents, max_entries):
        query, document = (places.ravel() for places in np.indices((len(queries), len(documents))))
        every = pairs.Pairs(WeightedBags.join(queries), documents, query, document)
        known = every.some(np.flatnonzero(np.diff(documents.offsets)[every.document] > 0))
        groups = list(pairs.groups(known, max_entries, dim=20))
        np.testing.assert_array_equal(np.sort(np.concatenate([g.pairs for g in groups])), np.arange(len(known.query)))
        for group in groups:
            longest = max(len(queries[k]) for k in group.queries)
            assert len(group.terms) * len(group.queries) * longest <= max_entries or len(group.pairs) == 1
            assert group.n_words == sum(len(documents[k]) for k in group.documents)
            np.testing.assert_array_equal(group.queries[group.query], known.query[group.pairs])
            np.testing.assert_array_equal(group.documents[group.document], known.document[group.pairs])
