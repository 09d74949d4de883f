"""The loops in C take integers of 64 bits also where NumPy's own have 32: NumPy 1 on Windows."""

import json
import subprocess
import sys
from math import sqrt

import pytest

# The query and the documents have one word each, at 0, 60, 90 and 180 degrees.
PROGRAM = """
import json
import numpy as np
from reranker.base.errors import BadEmbeddings
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, distances
from reranker.transport.problem import checked_problem
from reranker.transport.pruning import nearest_by_emd

def short(make):
    def made(*args, **named):
        found = make(*args, **named)
        is_named = len(args) > 2 or named
        return found.astype(np.int32) if found.dtype == np.int64 and not is_named else found
    return made

np.arange, np.full = short(np.arange), short(np.full)
assert np.arange(2).dtype == np.full(1, -1).dtype == np.int32

angles = np.radians([0, 60, 90, 180])
table = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
query, *documents = (WeightedBag(np.array([word], np.int32), np.ones(1)) for word in range(4))
documents = WeightedBags.join(documents * 100)
found = {name: distances(query, documents, table, name).values[-3:].tolist() for name in ("rwmd", "nbow", "emd")}
found["sinkhorn"] = distances(query, documents, table, "sinkhorn", Parameters(epsilon=0.003)).values[-3:].tolist()
nearest, _ = nearest_by_emd(checked_problem(query, documents, table), Parameters(), 1)
found["nearest"] = nearest.values.min()
table[3] = np.nan
for name in ("rwmd", "nbow"):
    try:
        distances(query, documents, table, name)
    except BadEmbeddings as error:
        found["not finite by " + name] = "3" in str(error)
print(json.dumps(found))
"""


def test_distances_are_the_same_where_integers_have_32_bits() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    chords = pytest.approx([1, sqrt(2), 2], abs=1e-6)
    assert json.loads(done.stdout) == {
        "rwmd": chords,
        "nbow": pytest.approx([0.5, 1, 2], abs=1e-6),
        "emd": chords,
        "sinkhorn": chords,
        "nearest": pytest.approx(1, abs=1e-6),
        "not finite by rwmd": True,
        "not finite by nbow": True,
    }
