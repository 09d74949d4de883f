"""Ways to count the words of one language, by hand; and the table of a small collection."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pytest

from papers.studies.one_language import WAYS, by_part, by_word, main, words_of
from reranker.text.documents import Document

# Rows are cat, dog, bread, in the order of their coming.
DOCUMENTS = [Document("1", "cat dog dog bread", "en"), Document("2", "bread", "en")]


def test_words_near_each_other_by_hand() -> None:
    # Within 1 word: cat-dog once, dog-bread once; dog is not near itself. Both ways 4 pairs: cat 1, dog 2, bread 1.
    # Contexts by their counts to the power 0.75: dog has 2^0.75 of 2 + 2^0.75.
    of_dog = 2**0.75 / (2 + 2**0.75)
    of_other = 1 / (2 + 2**0.75)
    near_dog, dog_near = log((1 / 4) / ((1 / 4) * of_dog)), log((1 / 4) / ((2 / 4) * of_other))
    found = by_word(words_of(DOCUMENTS, "en"), 1).dense()
    assert found == pytest.approx(np.array([[0, near_dog, 0], [dog_near, 0, dog_near], [0, near_dog, 0]]))


def test_parts_of_documents_by_hand() -> None:
    # By documents: 4 pairs, bread in both of them. cat: log(4 / (1 · 3)); bread in document 2: log(4 / (2 · 1)).
    whole = by_part(words_of(DOCUMENTS, "en"), None).dense()
    assert whole == pytest.approx(np.array([[log(4 / 3), 0], [log(4 / 3), 0], [0, log(2)]]))
    # Parts of two words: cat dog | dog bread | bread, 5 pairs.
    parts = by_part(words_of(DOCUMENTS, "en"), 2).dense()
    cat, shared = log(5 / 2), log(5 / 4)
    assert parts == pytest.approx(np.array([[cat, 0, 0], [shared, shared, 0], [0, shared, log(5 / 2)]]))


def test_the_table_has_a_row_for_each_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["cat dog fur", "dog fur paw", "cat paw fur", "bread soup salt", "soup salt oven", "bread oven salt"]
    rows = [{"_id": str(n), "text": text} for n, text in enumerate(texts)]
    (tmp_path / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "queries.jsonl").write_text(f"{json.dumps({'_id': 'q', 'text': 'cat'})}\n")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t0\t1\nq\t2\t1\n")
    main([str(tmp_path)])
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert [row[1] for row in table[2:]] == list(WAYS)
    assert {tuple(row[2:]) for row in table[2:]} == {("1.000", "1.000", "1.000")}  # both that BM25 finds are relevant
