"""Turns pairs of a query and a document into distances on a device: groups by tables, batches by tiles of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.transport.device.devices import Array
from reranker.transport.device.embeddings import DeviceEmbeddings
from reranker.transport.device.pairs import Group, Pairs, Places, batches, groups, words_of
from reranker.transport.device.scaling import LOG_OF_NOTHING, LogScalings, PlainScalings, scale
from reranker.transport.device.tables import cost_table, padded
from reranker.transport.problem import Parameters, scaling_precision

Found = tuple[NDArray[np.float64], NDArray[np.float64]]  # distances and marginal errors, one for each pair
Wanted = Sequence[tuple[str, Parameters]]

# Half of the memory is for the tables of a group: costs, kernel, and the product of both.
_TABLES = 3
# The other half is for tiles: four of them live at a time in the log domain, fewer otherwise.
_TILES = 4


def solve(embeddings: DeviceEmbeddings, pairs: Pairs, wanted: Wanted, max_bytes: int) -> list[Found]:
    """Distances and marginal errors of pairs by some methods of one ground cost and epsilon, from the same tables.

    Args:
        wanted: `rwmd`, `sinkhorn` or `relaxed`, each with its parameters; or nothing.
        max_bytes: of the device's memory, beside the embeddings.
    """
    if not wanted:
        return []
    method, parameters = wanted[0]
    precision = "float32" if method == "rwmd" else scaling_precision(parameters.epsilon)
    with np.errstate(all="ignore"):  # NumPy alone would warn of what is found below
        found = _solve(embeddings, pairs, wanted, precision, max_bytes)
    for way, (values, errors) in zip(wanted, found, strict=True):
        lost = np.flatnonzero(np.isnan(values))
        if len(lost):  # what float32 or float64 could not hold
            ((values[lost], errors[lost]),) = _solve(embeddings, pairs.some(lost), [way], "log", max_bytes)
        np.maximum(values, 0, out=values)  # rounding can leave -1e-17
    return found


def _solve(embeddings: DeviceEmbeddings, pairs: Pairs, wanted: Wanted, precision: str, max_bytes: int) -> list[Found]:
    found = [(np.empty(len(pairs.query)), np.zeros(len(pairs.query))) for _ in wanted]
    itemsize = 4 if precision == "float32" else 8
    lengths = np.diff(pairs.documents.offsets)
    for group in groups(pairs, max_bytes // (2 * _TABLES * itemsize), embeddings.rows.shape[1]):
        tables = _Tables(embeddings, pairs, group, precision, wanted[0][1].ground_cost, max_bytes // 4)
        own_lengths = lengths[pairs.document[group.pairs]]
        for batch in batches(own_lengths, tables.width, max_bytes // (2 * _TILES * itemsize)):
            tiles = _Batch(tables, batch)
            for (method, parameters), (values, errors) in zip(wanted, found, strict=True):
                places = group.pairs[batch]
                if method == "rwmd":
                    values[places] = tiles.rwmd()
                elif precision == "log":
                    values[places], errors[places] = tiles.in_log_domain(method, parameters)
                else:
                    values[places], errors[places] = tiles.scaled(method, parameters)
    return found


class _Tables:
    """What the pairs of a group have in common, on the device."""

    def __init__(
        self,
        embeddings: DeviceEmbeddings,
        pairs: Pairs,
        group: Group,
        precision: str,
        ground_cost: str,
        max_bytes: int,
    ) -> None:
        self.device, self.group, self.precision = embeddings.device, group, precision
        xp, dtype = self.device.xp, np.dtype("float32" if precision == "float32" else "float64")
        query_ids, weights = padded(pairs.queries, group.queries)
        n_queries, self.width = query_ids.shape
        self.cost = cost_table(embeddings, group.terms, query_ids, getattr(xp, dtype.name), ground_cost, max_bytes)
        self._kernels: dict[float, tuple[Array, Array]] = {}

        n_words = (weights > 0).sum(axis=1, keepdims=True)
        self.a = self.device.put(weights.astype(dtype))
        self.uniform = self.device.put(((weights > 0) / n_words).astype(dtype))

        self.lengths = np.diff(pairs.documents.offsets)[group.documents]
        self.starts = np.cumsum(self.lengths) - self.lengths
        words = words_of(pairs.documents, group.documents)
        term = np.searchsorted(group.terms, pairs.documents.term_ids[words])
        self.row_of_word = self.device.put((term * n_queries).astype(np.int64))
        self.weight_of_word = self.device.put(pairs.documents.weights[words].astype(dtype))

    def kernel(self, epsilon: float) -> tuple[Array, Array]:
        """exp(-cost / epsilon), and that times the cost."""
        if epsilon not in self._kernels:
            kernel = self.device.xp.exp(self.cost * (-1 / epsilon))
            self._kernels[epsilon] = kernel, kernel * self.cost
        return self._kernels[epsilon]


class _Batch:
    """Some pairs of a group: k pairs, m words of their longest document, n of their longest query.

    Documents are filled up with their first word, without weight, as `padded` does it.
    """

    def __init__(self, tables: _Tables, places: Places) -> None:
        self.tables, self.xp, put = tables, tables.device.xp, tables.device.put
        xp, document = self.xp, tables.group.document[places]
        lengths = tables.lengths[document]
        column = xp.arange(int(lengths.max()), device=tables.device.place)[None, :]
        self.real = column < put(lengths)[:, None]
        word = xp.reshape(put(tables.starts[document])[:, None] + xp.where(self.real, column, 0), (-1,))
        self.query = put(tables.group.query[places])
        self.rows = xp.reshape(self._by_word(tables.row_of_word, word) + self.query[:, None], (-1,))
        weights = self._by_word(tables.weight_of_word, word)
        self.b = weights * xp.astype(self.real, weights.dtype)

    def rwmd(self) -> NDArray[np.float64]:
        """max(sum_i a_i min_j C_ij, sum_j b_j min_i C_ij) (Kusner et al. 2015, 4)."""
        xp, cost = self.xp, self._tile(self.tables.cost)
        from_query = xp.sum(self._by_query(self.tables.a) * xp.min(cost, axis=1), axis=1)
        to_document = xp.sum(self.b * xp.min(cost, axis=2), axis=1)
        return self._fetch(xp.maximum(from_query, to_document))

    def scaled(self, method: str, parameters: Parameters) -> Found:
        """NaN where the range of the precision did not suffice."""
        xp, precision = self.xp, self.tables.precision
        kernel, priced = self.tables.kernel(parameters.epsilon)
        power, a = parameters.power(method), self._by_query(self.tables.a)
        scalings = PlainScalings(xp, self._tile(kernel), a, self.b, power, precision)
        w, z, errors = scale(scalings, self._start(method), parameters, parameters.stop_below(precision))
        lost = scalings.lost()
        del scalings  # the tile of the kernel makes room for the next
        paid = xp.matmul(z[:, None, :], self._tile(priced))[:, 0, :]
        values = xp.where(lost, xp.nan, xp.sum(w * paid, axis=1))
        return self._fetch(values), self._fetch(errors)

    def in_log_domain(self, method: str, parameters: Parameters) -> Found:
        xp, exponents = self.xp, self._tile(self.tables.cost) * (-1 / parameters.epsilon)
        log_a, log_w = (self._log(self._by_query(self.tables.a)), self._log(self._start(method)))
        scalings = LogScalings(xp, exponents, log_a, self._log(self.b), parameters.power(method))
        log_w, log_z, errors = scale(scalings, log_w, parameters, parameters.stop_below("log"))
        plan = xp.exp(exponents + log_w[:, None, :] + log_z[:, :, None])
        return self._fetch(xp.sum(plan * exponents, axis=(1, 2)) * -parameters.epsilon), self._fetch(errors)

    def _start(self, method: str) -> Array:
        """The w to begin with (`reference.scaled_plan`)."""
        return self._by_query(self.tables.uniform if method == "sinkhorn" else self.tables.a)

    def _log(self, weights: Array) -> Array:
        """Logarithms; a number in the place of log 0."""
        return self.xp.where(weights > 0, self.xp.log(self.xp.where(weights > 0, weights, 1.0)), LOG_OF_NOTHING)

    def _by_query(self, values: Array) -> Array:
        return self.xp.take(values, self.query, axis=0)

    def _by_word(self, values: Array, word: Array) -> Array:
        return self.xp.reshape(self.xp.take(values, word, axis=0), self.real.shape)

    def _tile(self, table: Array) -> Array:
        """(k, m, n) the rows of a table."""
        return self.xp.reshape(self.xp.take(table, self.rows, axis=0), (*self.real.shape, self.tables.width))

    def _fetch(self, values: Array) -> NDArray[np.float64]:
        return self.tables.device.fetch(values).astype(np.float64)
