"""Stores that keep their numbers in fewer bytes: what is read of them is near what was written, and rows stay rows."""

import numpy as np
import pytest

from reranker.base.errors import WrongParameter
from reranker.embeddings import unpacking
from reranker.embeddings.rows import CompactRows, check_precision, packed
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, distances
from tests.tiny import POSITIONS, write_embeddings

DIM, N_TERMS = 40, 300


@pytest.fixture(scope="module")
def rows():
    found = np.random.default_rng(7).standard_normal((N_TERMS, DIM))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def stores(rows, tmp_path_factory):
    """One store a precision, of the same rows."""

    words = {f"a{chr(97 + n // 26)}{chr(97 + n % 26)}": row for n, row in enumerate(rows)}
    return {
        precision: write_embeddings(tmp_path_factory.mktemp(precision) / "store", {"en": words}, precision=precision)
        for precision in ("float32", "float16", "int8")
    }


def test_an_int8_row_is_its_numbers_over_the_largest_in_127_steps():
    assert packed(np.array([[0.8, -0.6], [0.0, 1.0]], np.float32), "int8").tolist() == [[127, -95], [0, 127]]
    # 127² + 95² = 25154 = 158.6²
    assert CompactRows(np.array([[127, -95]], np.int8))[0] == pytest.approx([127 / 158.6, -95 / 158.6], abs=1e-5)


# A number of float16 has 11 bits; a row of int8 is off by half a step of 1/127 of its largest number at most, which is
# under 0.6 here: 0.6 / 254 a number, and a norm that hardly moves.
@pytest.mark.parametrize(("precision", "error", "share"), [("float16", 2**-11, 0.5), ("int8", 0.004, 0.25)])
def test_rows_come_back_at_length_1_and_near_what_was_written_in_fewer_bytes(stores, rows, precision, error, share):
    store = stores[precision]
    read = np.asarray(store.vectors)
    assert read.dtype == np.float32
    assert np.abs(read - rows).max() < error
    assert np.linalg.norm(read, axis=1) == pytest.approx(np.ones(N_TERMS), abs=1e-6)
    sizes = [(each.path / "vectors.npy").stat().st_size - 128 for each in (store, stores["float32"])]
    assert sizes[0] == share * sizes[1]
    assert store.precision == precision


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_every_way_to_pick_rows_gives_the_same(stores, precision):
    vectors, ids = stores[precision].vectors, np.array([5, 0, 299, 5])
    whole = np.asarray(vectors)
    assert (len(vectors), vectors.shape, vectors.ndim) == (N_TERMS, (N_TERMS, DIM), 2)
    # By hand, from what lies on the disk.
    kept = np.asarray(vectors.codes, dtype=np.float64)
    assert whole == pytest.approx(kept / np.linalg.norm(kept, axis=1, keepdims=True), abs=1e-6)
    assert vectors[ids] == pytest.approx(whole[ids], abs=1e-6)
    assert vectors[np.array([-1, 2])] == pytest.approx(whole[[-1, 2]], abs=1e-6)
    assert np.take(vectors, ids, axis=0) == pytest.approx(whole[ids], abs=1e-6)
    assert vectors[ids.reshape(2, 2)] == pytest.approx(whole[ids.reshape(2, 2)], abs=1e-6)
    assert np.array_equal(vectors[7], whole[7])
    assert np.array_equal(vectors[3:9], whole[3:9])
    assert vectors[ids[:0]].shape == (0, DIM)
    with pytest.raises(IndexError, match="take one index"):
        vectors[0, 0]
    for beyond in (N_TERMS, -N_TERMS - 1):
        with pytest.raises(IndexError):
            vectors[np.array([0, beyond])]
        with pytest.raises(IndexError):
            np.take(vectors, [beyond], axis=0)


@pytest.mark.parametrize("precision", ["float16", "int8"])
@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto"])
def test_every_method_gives_the_distances_of_the_rows_as_they_are_read(stores, precision, method):
    rng = np.random.default_rng(3)

    def bag(n):
        return WeightedBag(np.sort(rng.choice(N_TERMS, n, replace=False)).astype(np.int32), np.full(n, 1 / n))

    query, documents = bag(6), WeightedBags.join([bag(9), bag(4), bag(12)])
    vectors = stores[precision].vectors
    found = distances(query, documents, vectors, method, Parameters()).values
    expected = distances(query, documents, np.asarray(vectors), method, Parameters()).values
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_neighbours_means_and_verification_work_on_fewer_bytes(tmp_path, precision):
    store = write_embeddings(tmp_path / "s", POSITIONS, precision=precision)
    store.verify()
    language, term, cosine = store.nearest("cat", "en", "fr", 1)[0]
    assert (language, term, cosine) == ("fr", "chat", pytest.approx(0.96, abs=0.003))
    mean = store.nbow(WeightedBag(np.array([0, 1], np.int32), np.array([0.25, 0.75])))
    assert mean == pytest.approx(np.array([0.85, 0.45]) / np.sqrt(0.925), abs=0.005)


def test_stores_of_other_precisions_are_of_other_versions(stores):
    assert len({store.version for store in stores.values()}) == 3


def test_an_unknown_precision_is_refused_with_those_that_there_are():
    with pytest.raises(WrongParameter, match=r"'bfloat16' is not a precision.*float32, float16, int8"):
        check_precision("bfloat16")


@pytest.mark.parametrize("precision", ["int8", "float16"])
def test_after_the_warm_up_reading_a_memory_map_compiles_nothing(tmp_path, precision) -> None:
    np.save(tmp_path / "rows.npy", np.ones((3, 4), precision))
    unpacking.warm_up()
    before = [len(function.signatures) for function in (unpacking.unpack_int8, unpacking.unpack_float16)]
    found = CompactRows(np.load(tmp_path / "rows.npy", mmap_mode="r"))[np.array([0, 1], np.int32)]
    assert found.tolist() == [[0.5] * 4] * 2  # of length 1
    assert [len(function.signatures) for function in (unpacking.unpack_int8, unpacking.unpack_float16)] == before
