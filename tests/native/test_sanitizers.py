"""The C code under GCC's or Clang's AddressSanitizer and UndefinedBehaviorSanitizer, on tests that call every entry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reranker.native.compiling import all_sources, compile_library
from reranker.native.library import LEVEL, LEVELS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OF_EACH_LEVEL = (
    "tests/transport/test_short_queries.py",
    "tests/transport/test_cost.py",
    "tests/transport/test_fixed_point.py",
    "tests/transport/test_nbow.py",
    "tests/transport/test_bounds.py",
    "tests/transport/test_query_sample.py",
    "tests/transport/test_batch.py",
)
# These do not depend on the level.
OF_ALL_LEVELS = (
    "tests/base/test_raw_json.py",
    "tests/embeddings/test_compounds.py",
    "tests/ingest/embeddings/test_sparse_rows.py",
    "tests/ranking/test_feedback.py",
    "tests/ranking/test_lexical.py",
    "tests/ranking/test_matches.py",
    "tests/ranking/test_neighbours.py",
)
_TEXTS = "tests/embeddings/test_text_reader.py::test_"
TEXT_TESTS = (
    f"{_TEXTS}hostile_texts_are_read",
    f"{_TEXTS}tokens_are_those_of_the_definition[uk]",
    f"{_TEXTS}tokens_are_those_of_the_definition[el]",
    f"{_TEXTS}numbers_beside_letters_without_spaces_are_read_as_by_the_definition",
    f"{_TEXTS}bags_hold_the_terms_that_stand_for_words",
    f"{_TEXTS}words_of_64_letters_have_a_nearest_spelling_and_longer_ones_none",
    f"{_TEXTS}words_and_numbers_are_counted_up_to_their_limits",
    f"{_TEXTS}the_first_words_of_each_language_are_those_of_the_definition",
)
# Without optimisation it is compiled in a fifth of the time.
_SANITIZED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
# Opens the library of its first argument in the place of ours.
_RUN = """
import pathlib, sys
from reranker.native import compiling
compiling.LIBRARY = pathlib.Path(sys.argv[1])
import pytest
sys.exit(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "-s", *sys.argv[2:]]))
"""


def _compiler() -> str | None:
    return next((name for name in ("gcc", "clang") if shutil.which(name) and _runtime(name)), None)


def _runtime(compiler: str) -> str | None:
    """The sanitizer's own library, which must be loaded before Python."""
    for name in ("libasan.so", "libclang_rt.asan-x86_64.so", "libclang_rt.asan-aarch64.so"):
        shown = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
        if Path(shown.stdout.strip()).is_absolute():
            return str(Path(shown.stdout.strip()).resolve())
    return None


_LOWER_LEVELS = LEVELS[: LEVELS.index(LEVEL)]


@pytest.mark.parametrize(
    ("level", "tests"),
    [
        (LEVEL, (*OF_EACH_LEVEL, *OF_ALL_LEVELS, *TEXT_TESTS)),
        *(pytest.param(one, OF_EACH_LEVEL, marks=pytest.mark.conformance) for one in _LOWER_LEVELS),
    ],
    ids=[LEVEL, *_LOWER_LEVELS],
)
def test_nothing_outside_its_memory_is_read_and_nothing_undefined_is_done(level, tests, tmp_path):
    compiler = _compiler()
    if compiler is None:
        pytest.skip("neither gcc nor clang with AddressSanitizer is here")
    options = _SANITIZED if compiler == "gcc" else (*_SANITIZED, "-shared-libasan")
    others = {*LEVELS} - {level}
    sources = [source for source in all_sources() if source.stem.rpartition("_")[2] not in others]
    compile_library(tmp_path / "library.so", options, [compiler], sources)
    settings = {
        "NATIVE_LEVEL": level,
        "LD_PRELOAD": str(_runtime(compiler)),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python's own are many
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path / "library.so"), *tests],
        cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
