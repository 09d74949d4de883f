"""After the warm-up nothing is left to compile: no request waits for it."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, distances, mean_embeddings, nearest_documents, warm_up
from reranker.transport.methods import METHODS

pytestmark = pytest.mark.slow


def compiled() -> set[str]:
    """The functions of the package that are compiled, each with the types that it is compiled for."""
    modules = [module for name, module in sys.modules.items() if name.startswith("reranker.transport")]
    functions = {value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    return {f"{function.__name__}{types}" for function in functions for types in function.signatures}


def call_everything(n_query_words: int) -> None:
    random = np.random.default_rng(1)
    rows = random.standard_normal((500, 40)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def some(n: int) -> WeightedBag:
        return WeightedBag(np.sort(random.choice(500, n, replace=False)).astype(np.int32), np.full(n, 1 / n))

    query, documents = some(n_query_words), WeightedBags.join([some(int(n)) for n in random.integers(1, 90, 80)])
    for method in METHODS:
        for epsilon in (0.1, 0.02, 0.001) if method not in ("nbow", "rwmd", "emd") else (0.1,):
            parameters = Parameters(epsilon=epsilon, n_iterations=7)
            distances(query, documents, rows, method, parameters, 2)
            nearest_documents(query, documents, rows, 3, method, parameters, 2)
            for tau in (0.0, 0.3):
                distances(query, documents, rows, method, replace(parameters, tau=tau), 2)
            nearest_documents(query, documents, rows, 1, method, parameters, offsets=np.zeros(len(documents)))
            nearest_documents(query, documents, rows, 1, method, replace(parameters, cost="cosine"))
    mean_embeddings(documents, rows)


def test_no_query_compiles_anything_after_the_warm_up():
    """In a process of its own: here other tests have compiled what they needed."""
    done = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


if __name__ == "__main__":
    warm_up()
    before = compiled()
    assert len(before) > 10
    for n in (1, 20, 200):
        call_everything(n)
    for late in sorted(compiled() - before):
        print(late)
