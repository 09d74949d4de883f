"""What passes of opensearch-haystack's own integration tests at an OpenSearch passes through `sinkrank serve` too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import regex
import urllib3

from tests.clients.haystack_suite import haystack_sources, run_integration_tests
from tests.clients.word_embeddings import word_embeddings
from tests.commands.test_serve import serving

pytestmark = pytest.mark.conformance

# 278 of 283: the others need plugins or libraries that an assembled node has not (SQL, Faiss).
MIN_PASSED = 270


@pytest.mark.timeout(7500)
def test_what_passes_at_the_engine_passes_through_the_proxy(opensearch_2_url: str, tmp_path: Path) -> None:
    # With a vector for each word of the tests, every search by text is re-ranked.
    texts = [path.read_text(encoding="utf-8") for path in (haystack_sources() / "tests").glob("*.py")]
    words = {word.lower() for text in texts for word in regex.findall(r"\p{L}{2,}", text)}
    word_embeddings(tmp_path / "embeddings", sorted(words))

    direct = run_integration_tests(opensearch_2_url, tmp_path / "direct")
    with serving(tmp_path, "--store", opensearch_2_url, "--embeddings", str(tmp_path / "embeddings")) as (_, address):
        proxied = run_integration_tests(address, tmp_path / "proxied")
        lost = passed(direct) - passed(proxied)
        again = run_integration_tests(address, tmp_path / "again", sorted(lost)) if lost else {}
        metrics = urllib3.request("GET", f"{address}/-/metrics", timeout=60).data.decode()

    print(f"directly: {Counter(direct.values())}; through the proxy: {Counter(proxied.values())}; once more: {again}")
    assert len(passed(direct)) >= MIN_PASSED
    assert lost - passed(again) == set()
    counts = regex.findall(r'^sinkrank_proxy_searches_total\{outcome="applied".*\} (\S+)$', metrics, regex.M)
    assert sum(map(float, counts)) > 0


def passed(outcomes: dict[str, str]) -> set[str]:
    return {test for test, outcome in outcomes.items() if outcome == "passed"}
