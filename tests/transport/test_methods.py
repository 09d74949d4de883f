import numpy as np
import ot
import pytest

from reranker.base.errors import BadEmbeddings, BadInput, EmptyQuery
from reranker.text.bags import WeightedBags
from reranker.transport import (
    METHODS,
    Parameters,
    check_method,
)
from tests.transport.conftest import NOTHING, bag, distances, exact_cost


@pytest.fixture
def pair():
    return bag([0, 1], [0.5, 0.5]), WeightedBags.join([bag([2, 3], [0.5, 0.5]), bag([1], [1.0])])


# By hand from docs/methods.md, by the distinct words of the query: nearest, sinkhorn, nbow.
SHORT, MIDDLE, LONG = (0.45, 0.35, 0.20), (0.425, 0.425, 0.15), (0.40, 0.50, 0.10)


def rule(query, document, table, cost, shares=SHORT):
    """The rule of docs/methods.md by its formula, the balanced plan from POT."""
    a, b, kernel = query.weights, document.weights, np.exp(-cost / 0.1)
    nearest = a @ ((kernel * cost) @ b / (kernel @ b))
    plan = ot.sinkhorn(a, b, cost, 0.1, numItermax=50, stopThr=0, warn=False)
    x, y = a @ table[query.term_ids].astype(np.float64), b @ table[document.term_ids].astype(np.float64)
    nbow = 1 - x @ y / np.linalg.norm(x) / np.linalg.norm(y)
    return np.array(shares) @ [nearest, (plan * cost).sum(), nbow]


@pytest.mark.parametrize(
    ("n_words", "shares"), [(1, SHORT), (3, SHORT), (8, SHORT), (12, SHORT), (18, MIDDLE), (24, LONG), (40, LONG)]
)
def test_auto_is_the_stated_rule_at_every_length(table, random_bag, implementation, n_words, shares):
    query, documents = random_bag(n_words), [random_bag(12), random_bag(40)]
    found = distances(query, WeightedBags.join([*documents, bag([], [])]), table, "auto", implementation=implementation)
    costs = [exact_cost(query, document, table) ** 2 / 2 for document in documents]
    expected = [rule(query, document, table, cost, shares) for document, cost in zip(documents, costs, strict=True)]
    np.testing.assert_allclose(found.values, [*expected, np.inf], atol=1e-6)
    sinkhorn = distances(
        query, WeightedBags.join(documents), table, "sinkhorn", Parameters(cost="cosine"), implementation=implementation
    )
    np.testing.assert_allclose(found.marginal_error[:2], sinkhorn.marginal_error)


def test_auto_takes_another_cost_where_it_is_asked_for(table, random_bag, implementation):
    query, document = random_bag(9), random_bag(40)
    found = distances(
        query, WeightedBags.join([document]), table, "auto", Parameters(cost="euclidean"), implementation=implementation
    )
    expected = rule(query, document, table, exact_cost(query, document, table))
    np.testing.assert_allclose(found.values, [expected], atol=1e-6)


@pytest.mark.parametrize("wrong", ["Cosine", "", "manhattan"])
def test_an_unknown_ground_cost_is_refused(wrong):
    with pytest.raises(BadInput, match="give 'euclidean' or 'cosine', or leave it out"):
        Parameters(cost=wrong)


@pytest.mark.parametrize(("wrong", "nearest"), [("sinkhron", "sinkhorn"), ("relax", "relaxed"), ("EMD2", "emd")])
def test_an_unknown_method_is_refused_with_the_nearest_known_one(wrong, nearest):
    with pytest.raises(BadInput, match=f"'{wrong}'; did you mean '{nearest}'"):
        check_method(wrong)


@pytest.mark.parametrize("epsilon", [0, -0.1, np.nan, np.inf, 1e-5, 101, None, "0.1"])
def test_an_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(BadInput, match=f"epsilon is {epsilon!r}; give a number from"):
        Parameters(epsilon=epsilon)


@pytest.mark.parametrize("n_iterations", [0, -1, 10_001, 2.5, np.nan])
def test_a_number_of_iterations_out_of_range_is_refused(n_iterations):
    with pytest.raises(BadInput, match=r"n_iterations is .*; give a whole number from 1 to 10000"):
        Parameters(n_iterations=n_iterations)


@pytest.mark.parametrize("tau", [-0.1, np.nan, np.inf])
def test_a_tau_out_of_range_is_refused(tau):
    with pytest.raises(BadInput, match=r"tau is .*; give 0 or a larger"):
        Parameters(tau=tau)


@pytest.mark.parametrize("name", ["epsilon", "tau", "stop_at"])
@pytest.mark.parametrize("value", [".1", [0.1], 1j])
def test_a_parameter_that_is_no_number_is_refused(name, value):
    with pytest.raises(BadInput, match=f"{name} is .*; give"):
        Parameters(**{name: value})


def test_the_parameters_that_are_allowed_at_the_edge_are_taken():
    assert Parameters(epsilon=1e-4, n_iterations=1, tau=0.0)
    assert Parameters(epsilon=100, n_iterations=10_000, tau=5)
    assert Parameters(epsilon=np.float32(0.1), tau=np.int64(1), stop_at=np.float64(1))


class TestBadBags:
    def test_an_empty_query_is_refused(self, circle, pair):
        with pytest.raises(EmptyQuery, match="no known word"):
            distances(NOTHING, pair[1], circle)

    @pytest.mark.parametrize("term_id", [-1, 7])
    def test_term_ids_outside_the_embeddings_are_refused(self, circle, pair, term_id):
        query, documents = pair
        with pytest.raises(BadInput, match=f"term id {term_id} is outside the 7 embeddings"):
            distances(bag([term_id], [1.0]), documents, circle)
        with pytest.raises(BadInput, match=f"term id {term_id} is outside the 7 embeddings"):
            distances(query, WeightedBags.join([bag([term_id], [1.0])]), circle)

    def test_no_threads_are_refused(self, circle, pair):
        with pytest.raises(BadInput, match="n_threads is 0"):
            distances(*pair, circle, n_threads=0)


class TestBadEmbeddings:
    @pytest.mark.parametrize("method", [method for method in METHODS if method != "auto"])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize(("term_id", "column"), [(0, 0), (3, 0), (3, 1)])
    @pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
    def test_an_embedding_that_is_not_finite_is_named(
        self, circle, pair, implementation, method, value, term_id, column
    ):
        """Term 0 is the query's, term 3 a document's; column 1 of the query's first word is 0."""
        circle[term_id, column] = value
        with pytest.raises(BadEmbeddings, match=f"embedding of term {term_id} is not finite"):
            distances(*pair, circle, method, implementation=implementation)

    def test_an_embedding_that_is_not_used_may_be_anything(self, circle, pair):
        circle[6] = np.nan
        assert np.isfinite(distances(*pair, circle).values).all()

    def test_rows_that_were_not_normalised_are_named(self, circle, pair):
        with pytest.raises(BadEmbeddings, match="embedding of term 0 has norm 3, not 1; divide"):
            distances(*pair, circle * 3)

    @pytest.mark.parametrize("embeddings", [np.zeros(4, np.float32), np.zeros((4, 2), np.float16)])
    def test_a_block_of_another_shape_or_type_is_refused(self, pair, embeddings):
        with pytest.raises(BadInput, match="give \\(n_terms, dim\\) float32"):
            distances(*pair, embeddings)

    @pytest.mark.parametrize("laid", [np.asfortranarray, lambda rows: np.repeat(rows, 2, axis=0)[::2]])
    def test_rows_that_do_not_lie_one_after_the_other_are_refused(self, circle, pair, laid):
        with pytest.raises(BadInput, match=r"row after row.*numpy\.ascontiguousarray"):
            distances(*pair, laid(circle))
