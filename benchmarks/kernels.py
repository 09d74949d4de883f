"""Measures the gain of each piece of the transport's vector code: whole calls with the piece and with its plain form.

python -m benchmarks.kernels [--rounds 15] [--vocabulary 50000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import plain_kernels as plain
from benchmarks import report
from benchmarks.timing import in_turn
from benchmarks.workload import Workload, clustered_embeddings, synthetic

_PACKAGE = "reranker.transport"
# (query words, candidates)
SIZES = ((5, 100), (20, 300), (100, 500), (300, 500))
# Replacements by name ("module.name" in the package). A function makes them from a fresh copy of the modules.
Replacing = Callable[["Modules"], Mapping[str, Any]]


class Modules:
    """A new copy of the transport's modules. Compiled code is not shared between copies."""

    def __init__(self, replacing: Replacing | None = None) -> None:
        others = _taken_out()
        try:
            if replacing is not None:  # code of a changed copy must not be kept on disk under the name of the true one
                import_module(f"{_PACKAGE}.kernels.compiling")._SOURCES = ""  # type: ignore[attr-defined]
            for name in ("solve", "pruning", "kernels.nbow_means"):
                import_module(f"{_PACKAGE}.{name}")
            self._modules = dict(sys.modules)
            for place, value in (replacing(self) if replacing is not None else {}).items():
                module, _, name = place.rpartition(".")
                if not hasattr(self[module], name):
                    raise AttributeError(f"{_PACKAGE} has no {place}")
                setattr(self[module], name, value)
        finally:
            _taken_out()
            sys.modules.update(others)
            parent, _, name = _PACKAGE.rpartition(".")
            setattr(sys.modules[parent], name, sys.modules[_PACKAGE])

    def __getitem__(self, name: str) -> ModuleType:
        return self._modules[f"{_PACKAGE}.{name}"]

    def distances(self, work: Workload, method: str, parameters: Any) -> Any:
        """Like `reranker.transport.distances`, with this copy, on one thread."""
        problem = self["problem"].checked_problem(work.query, work.candidates, work.embeddings)
        if method == "emd":
            found, _ = self["pruning"].nearest_by_emd(problem, parameters, 10, np.zeros(len(work.candidates)))
            return np.sort(found.values)[:10]
        return self["methods"].solve_problem(problem, method, parameters, solve=self["solve"].solve).values


def _taken_out() -> dict[str, ModuleType]:
    """Removes the package's modules from `sys.modules` and returns them."""
    names = [name for name in sys.modules if name == _PACKAGE or name.startswith(_PACKAGE + ".")]
    return {name: sys.modules.pop(name) for name in names}


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of vector code.

    Attributes:
        name: the piece, and what replaces it.
        method, parameters: arguments of the call.
        sizes: the members of `SIZES` that use the piece.
    """

    name: str
    replacing: Replacing
    method: str = "sinkhorn"
    parameters: Mapping[str, Any] | None = None
    sizes: tuple[tuple[int, int], ...] = SIZES


def _nothing(*_: Any) -> None:
    """Replacements for generated code."""


def _power_of_llvm(simd: Any) -> Any:
    """`simd.inverse_power` with LLVM's `pow`, which calls the C library for each lane."""

    def inverse_power(typing: Any, x: Any, power: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            exponent = builder.fneg(arguments[1])
            if x.element.bitwidth == 32:
                exponent = builder.fptrunc(exponent, simd.scalar(x))
            return simd.call(builder, x, "pow", arguments[0], simd.spread_value(builder, exponent, x))

        return x(x, simd.types.float64), generate

    return simd.compiled_only(inverse_power)


def _exp_of_llvm(simd: Any) -> Any:
    return simd._unary(lambda builder, lanes, x: simd.call(builder, lanes, "exp", x))


def _unaligned(modules: Modules) -> Mapping[str, Any]:
    return {
        "kernels.scaling.floats": plain.floats,
        "kernels.whole_solve.floats": plain.floats,
        "cost_table._aligned": lambda n, width, dtype: np.empty((n, width), dtype),
    }


PIECES = (
    Piece("nothing / nothing (what the measurement itself is off by)", lambda _: {}),
    Piece(
        "iterations in registers / loops of Numba (scaling, sinkhorn_iteration, simd)",
        lambda _: {
            "kernels.scaling._fill": plain.fill_rows,
            "kernels.scaling._scale": plain.scale_rows,
            "kernels.scaling._pay": plain.pay_rows,
        },
    ),
    Piece(
        "groups of rows / one row at a time in registers (sinkhorn_iteration)",
        lambda m: {f"kernels.scaling.{k}": v for k, v in plain.rows_in_registers(m["kernels.simd"]).items()},
    ),
    Piece(
        "one group behind, there and back / each group at once, forwards (scaling._sweep)",
        lambda m: {"kernels.scaling._sweep": plain.sweep_forwards(m, m["kernels.scaling"])},
    ),
    Piece(
        "exponential in registers / the C library's (simd.exponential)",
        lambda m: {"kernels.scaling._fill": plain.fill_groups(m["kernels.sinkhorn_iteration"].GROUP)},
    ),
    Piece(
        "inverse power in registers / the C library's (simd.inverse_power)",
        lambda m: {"kernels.simd.inverse_power": _power_of_llvm(m["kernels.simd"])},
        "relaxed",
        {"tau": 0.3},
    ),
    Piece(
        "log domain in registers / loops of Numba (log_scaling)",
        lambda _: {
            "kernels.log_scaling._rescale_log": plain.rescale_log,
            "kernels.log_scaling._scale_rows_log": plain.scale_rows_log,
        },
        parameters={"epsilon": 0.001},
        sizes=SIZES[:2],
    ),
    Piece(
        "products in registers / loops of Numba (products)",
        lambda _: {"kernels.products.products": plain.products, "kernels.products.strips": plain.strips},
    ),
    Piece(
        "table of costs / gathered rows and BLAS (products, cost_tables)",
        lambda _: {"candidate_costs.cost_table": plain.cost_table, "solve.is_short": lambda *_: False},
    ),
    Piece(
        "products in fixed point / in float32 (fixed_point)",
        lambda _: {"kernels.fixed_point.AVAILABLE": False},
        sizes=SIZES[-1:],
    ),
    Piece("prefetching / none (simd.prefetch)", lambda _: {"kernels.simd.prefetch_at": _nothing}),
    Piece("memory aligned to cache lines / not (scaling, cost_table)", _unaligned),
    Piece(
        "distinct terms by bits / by numbers (cost_tables.deduplicate)",
        lambda _: {"kernels.cost_tables.deduplicate": plain.deduplicate, "solve.is_short": lambda *_: False},
    ),
    Piece(
        "means by four rows, fetched ahead / one by one (nbow_means)",
        lambda _: {"kernels.nbow_means._add_rows": plain.add_rows},
        "auto",
    ),
    Piece(
        "exponential in the bounds of emd / the C library's (dual_bounds)",
        lambda m: {"kernels.simd.exponential": _exp_of_llvm(m["kernels.simd"])},
        "emd",
        sizes=SIZES[:2],
    ),
)


def compare(piece: Piece, embeddings: Any, rounds: int, seed: int) -> list[dict[str, Any]]:
    """For each size: ms with the piece, ms with its plain form, and the ratio of the second to the first."""
    sides = {"ours": Modules(), "plain": Modules(piece.replacing)}
    found = []
    for n_words, n_candidates in piece.sizes:
        work = synthetic(n_words, embeddings, seed, n_candidates)
        runs = {name: _run(side, work, piece) for name, side in sides.items()}
        difference = float(np.abs(runs["ours"]() - runs["plain"]()).max())
        # Each side goes first in half of the rounds, since the second one finds warmer caches.
        orders = [in_turn(dict(order), -(-rounds // 2)) for order in (runs.items(), reversed(runs.items()))]
        ours, other = ([ms for order in orders for ms in order[name].wall_ms] for name in ("ours", "plain"))
        ratios = [x / y for x, y in zip(other, ours, strict=True)]
        found.append(
            {
                "n_words": n_words,
                "n_candidates": n_candidates,
                "ours_ms": round(median(ours), 2),
                "plain_ms": round(median(other), 2),
                "ratio": round(median(ratios), 2),
                "difference": difference,
            }
        )
    return found


def _run(side: Modules, work: Workload, piece: Piece) -> Callable[[], Any]:
    parameters = side["parameters"].Parameters(**(piece.parameters or {}))
    return lambda: side.distances(work, piece.method, parameters)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="times each side runs (default 15)")
    parser.add_argument("--vocabulary", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pieces", nargs="+", help="only pieces with one of these words in their name")
    options = parser.parse_args(arguments)
    print(report.machine())
    print(f"seed {options.seed}, rounds {options.rounds}, vocabulary {options.vocabulary}, one thread")
    embeddings = clustered_embeddings(options.vocabulary, np.random.default_rng(options.seed))
    for piece in PIECES:
        if options.pieces and not any(word in piece.name for word in options.pieces):
            continue
        print(f"\n{piece.method}: {piece.name}")
        for row in compare(piece, embeddings, options.rounds, options.seed):
            print(
                f"  {row['n_words']:>4} words, {row['n_candidates']} candidates: {row['ours_ms']:>7.2f} ms,"
                f" plain {row['plain_ms']:>7.2f}, {row['ratio']:.2f} times as long; differ by {row['difference']:.0e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
