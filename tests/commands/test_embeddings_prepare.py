"""`sinkrank embeddings prepare`: parts, what is left out, files and an index of one's own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.embeddings import sentence_models
from ingest.embeddings.dictionaries import Pair
from ingest.embeddings.preparing import other_languages, passages
from ingest.embeddings.word_encoder import Encoder
from reranker.base.errors import BadInput, FetchFailed
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from sinkrank.actions.preparing import next_step
from sinkrank.demo.shipped import load_parallel_texts
from tests.support.commands import MakeForeign, Run, write_rows
from tests.support.engines.sources import Engine

PREPARE = ("embeddings", "prepare")


def pages(*languages: str, group: str = "group") -> list[dict[str, str]]:
    """The texts that come along, as documents; those of one group are translations of each other."""
    corpus = load_parallel_texts()
    return [
        {
            "id": f"{page.language}/{page.page_id}",
            group: page.page_id,
            "title": page.title,
            "text": "\n".join(paragraph.text for paragraph in page.paragraphs),
        }
        for page in (*corpus.train_pages, *corpus.test_pages)
        if page.language in languages
    ]


@pytest.fixture
def english(empty_home: Path) -> str:
    write_rows(empty_home / "english.jsonl", pages("en"))
    return "english.jsonl"


@pytest.fixture
def bilingual(empty_home: Path) -> str:
    rows = [row | {"language": row["id"][:2]} for row in pages("en", "fr")]
    write_rows(empty_home / "bilingual.jsonl", rows)
    return "bilingual.jsonl"


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for the sentence encoders; it remembers the words that it encoded."""
    asked: list[str] = []

    def encode(words: list[str]) -> NDArray[np.float32]:
        asked.extend(words)
        return np.stack([np.random.default_rng(sum(map(ord, word))).standard_normal(32) for word in words]).astype("f4")

    monkeypatch.setattr(sentence_models, "open_encoder", lambda *arguments: Encoder("fake 1", 32, encode))
    monkeypatch.setattr(sentence_models.SentenceModel, "files", lambda *arguments: (b"the model", b"its tokenizer"))
    return asked


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise FetchFailed("the registry does not answer; check the network")

    monkeypatch.setattr("ingest.embeddings.freedict.fetch", fail)


def store(home: Path) -> Embeddings:
    return Embeddings.open(home / ".sinkrank" / "embeddings")


def left_over(home: Path) -> list[Path]:
    return list((home / ".sinkrank").glob(".*"))


@pytest.mark.slow
@pytest.mark.usefixtures("encoder")
def test_all_parts_are_joined(empty_home: Path, run: Run, english: str) -> None:
    report = json.loads(run(*PREPARE, english, "--json").stdout)
    assert [part["name"] for part in report["made"]] == ["training", "encoder"]
    assert report["left_out"] == {"dictionaries": "the documents are in one language"}
    assert report["unknown_share"] == 0
    found = store(empty_home)
    assert found.document_frequencies is not None
    assert found.meta["n_documents"] == {"en": 69}
    assert left_over(empty_home) == []


@pytest.mark.usefixtures("encoder")
def test_a_damaged_file_of_encoded_words_costs_the_encoded_part_alone(empty_home: Path, run: Run, english: str) -> None:
    run(*PREPARE, english, "--without", "training", "--output", "first")
    words = empty_home / ".sinkrank" / "encoded-words.sqlite3"
    whole = words.read_bytes()
    words.write_bytes(whole[:32_768] + b"\xff" * (len(whole) - 32_768))
    report = json.loads(run(*PREPARE, english, "--json").stdout)
    assert [part["name"] for part in report["made"]] == ["training"]
    assert "encoded-words.sqlite3 cannot store encoded words" in report["left_out"]["encoder"]


def test_the_plan_is_shown_and_nothing_made(empty_home: Path, run: Run, english: str) -> None:
    result = run(*PREPARE, english, "--dry-run", "--without", "dictionaries")
    assert "69 documents (en 69)" in result.stdout
    assert "encode the words of the documents with all-MiniLM-L6-v2" in result.stdout
    assert "without dictionaries: as asked" in result.stdout
    assert not (empty_home / ".sinkrank" / "embeddings").exists()
    plan = json.loads(run(*PREPARE, english, "--dry-run", "--json").stdout)
    assert [part["part"] for part in plan["parts"]][:2] == ["training", "encoder"]


@pytest.mark.usefixtures("offline")
def test_english_embeddings_are_mapped_to_the_encodings_of_passages(
    empty_home: Path, run: Run, english: str, encoder: list[str]
) -> None:
    report = json.loads(run(*PREPARE, english, "--without", "training", "--json").stdout)
    assert "passages" not in report["left_out"]
    (note,) = [note for note in report["notes"] if note.startswith("passages: ")]
    encoded = [text for text in encoder if " " in text]
    assert f"the encodings of {len(encoded)} passages" in note
    assert max(len(passage.split()) for passage in encoded) == 40
    mapped = store(empty_home)
    assert mapped.meta["source"]["n_passages"] == len(encoded)
    assert mapped.document_frequencies is not None
    assert mapped.document_frequencies.tolist() == sorted(mapped.document_frequencies.tolist(), reverse=True)
    assert mapped.meta["n_documents"] == {"en": 69}
    # The store keeps the encoder, for queries.
    assert [encoder.model.name for encoder in mapped.query_encoders] == ["all-MiniLM-L6-v2"]
    assert (mapped.path / "all-MiniLM-L6-v2-encoder.onnx").read_bytes() == b"the model"
    assert "queries in en are encoded by all-MiniLM-L6-v2" in run("embeddings", "show").stdout
    assert left_over(empty_home) == []


@pytest.mark.usefixtures("encoder", "offline")
def test_fewer_than_50_passages_are_not_mapped(empty_home: Path, run: Run) -> None:
    short = [{"id": str(number), "text": "The doctor sees a patient."} for number in range(50)]  # a passage each
    for n in (49, 50):
        write_rows(empty_home / f"{n}.jsonl", short[:n])
        report = json.loads(run(*PREPARE, f"{n}.jsonl", "--lang", "en", "--replace", "--json").stdout)
        why = report["left_out"].get("passages")
        assert why == (None if n == 50 else "the documents have 49 passages of 40 words, fewer than 50")
        assert len(store(empty_home).query_encoders) == (n == 50)


@pytest.mark.usefixtures("offline")
def test_passages_that_cannot_be_encoded_leave_the_joined_embeddings(
    empty_home: Path, run: Run, english: str, encoder: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages.PassageMap, "make", failing)
    report = json.loads(run(*PREPARE, english, "--without", "training", "--json").stdout)
    assert report["left_out"]["passages"] == "no room; free some"
    assert "joined" in store(empty_home).meta["source"]


def failing(*arguments: object, **options: object) -> None:
    raise BadInput("no room; free some")


def test_the_next_command_is_one_that_a_shell_takes() -> None:
    home = Path("my home")
    assert next_step(["a b.csv"], ["en"], Settings(home=home)).endswith(
        "ingest 'a b.csv' --home 'my home' --lang en --index NAME"
    )
    settings = Settings(home=home, store="opensearch://me:hunter2@a")
    assert next_step([], ["en"], settings) == "next: sinkrank serve --home 'my home' --store opensearch://a:9200"


def test_one_part_alone_will_do(empty_home: Path, run: Run, english: str) -> None:
    result = run(*PREPARE, english, "--without", "encoder")
    assert result.stderr.splitlines()[-1] == f"next: sinkrank ingest {english} --lang en --index NAME"
    assert re.search(r"words of the documents without an embedding: \d+\.\d%", result.stdout)
    assert list(store(empty_home).languages) == ["en"]
    assert "--replace" in run(*PREPARE, english, exits=1).stderr


@pytest.mark.usefixtures("offline")
def test_parts_that_cannot_be_had_are_named_with_the_cure(
    empty_home: Path, run: Run, english: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    result = run(*PREPARE, english)
    assert "without encoder: all-MiniLM-L6-v2 needs the package onnxruntime" in result.stdout
    assert "pip install 'sinkrank[prepare]'" in result.stdout
    assert store(empty_home).n_terms > 500


@pytest.mark.usefixtures("offline")
def test_without_any_part_there_is_an_error_and_no_store(
    empty_home: Path, run: Run, english: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    result = run(*PREPARE, english, "--without", "training", exits=1)
    assert "no part could be made" in result.stderr
    assert "pip install" in result.stderr
    assert not (empty_home / ".sinkrank" / "embeddings").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
def test_several_languages_are_aligned_by_their_groups(
    empty_home: Path, run: Run, bilingual: str, encoder: list[str]
) -> None:
    report = json.loads(run(*PREPARE, bilingual, "--json").stdout)
    assert [part["name"] for part in report["made"]] == ["training", "encoder"]
    assert sorted(report["summary"]["languages"]) == ["en", "fr"]
    assert any("without the dictionary en-fr: the registry does not answer" in note for note in report["notes"])
    assert {"train", "billet"} <= set(encoder)


@pytest.fixture
def dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for the dictionaries between English and French."""
    pairs = [Pair(("fr", "billet"), ("en", "ticket")), Pair(("en", "cabbage"), ("fr", "chou"))]
    monkeypatch.setattr(other_languages, "read_dictionaries", lambda *arguments: (pairs, ()))


@pytest.mark.usefixtures("encoder", "offline", "dictionary")
def test_another_language_changes_nothing_for_the_first(empty_home: Path, run: Run, english: str) -> None:
    run(*PREPARE, english, "--output", "alone")
    report = json.loads(run(*PREPARE, english, "--queries-in", "fr", "--output", "both", "--json").stdout)
    assert "languages" not in report["left_out"]
    alone, both = (Embeddings.open(empty_home / name) for name in ("alone", "both"))
    n = alone.n_terms
    assert [both.term(term_id) for term_id in range(n)] == [alone.term(term_id) for term_id in range(n)]
    assert np.array_equal(both.vectors[:n], alone.vectors)
    assert alone.document_frequencies is not None
    assert both.document_frequencies is not None
    assert np.array_equal(both.document_frequencies[:n], alone.document_frequencies)
    # Every word of the other language in the dictionary is added, also one whose translation is in no document.
    assert {both.term(term_id) for term_id in range(n, both.n_terms)} == {("fr", "billet"), ("fr", "chou")}
    assert both.meta["n_documents"] == {"en": 69, "fr": 0}
    assert both.mapped_languages == ("fr",)
    assert both.document_language == "en"
    read = [(encoder.model.name, encoder.model.languages) for encoder in both.query_encoders]
    assert read == [("all-MiniLM-L6-v2", ["en"]), ("multilingual-e5-small", ["fr"])]
    # A token of the first language has no stand-in in the other one, and the other one has some in the first.
    assert both.stand_ins("en", "chou") == alone.stand_ins("en", "chou")
    assert both.stand_ins("fr", "ticket") == (both.term_id("en", "ticket"),)


@pytest.mark.usefixtures("encoder", "offline", "dictionary")
def test_an_encoder_that_reads_the_first_language_reads_the_others_too(empty_home: Path, run: Run) -> None:
    write_rows(empty_home / "french.jsonl", [row | {"language": "fr"} for row in pages("fr")])
    run(*PREPARE, "french.jsonl", "--output", "alone")
    run(*PREPARE, "french.jsonl", "--queries-in", "en", "--output", "both")
    (alone,), (both,) = (Embeddings.open(empty_home / name).query_encoders for name in ("alone", "both"))
    assert (alone.model.languages, both.model.languages) == (["fr"], ["fr", "en"])
    assert not both.model.is_mapped
    means = [np.load(empty_home / name / "multilingual-e5-small-encoder_means.npy") for name in ("alone", "both")]
    assert [each.shape for each in means] == [(1, 32), (2, 32)]
    assert np.array_equal(means[0][0], means[1][0])


def test_languages_of_queries_and_parts_to_skip_may_be_given_together_or_apart(run: Run, english: str) -> None:
    together = run(*PREPARE, english, "--dry-run", "--queries-in", "fi,de", "--without", "training,passages")
    each = ["--queries-in", "fi", "--queries-in", "de", "--without", "training", "--without", "passages"]
    assert run(*PREPARE, english, "--dry-run", *each).stdout == together.stdout
    assert "queries in fi, de into" in together.stdout


@pytest.mark.usefixtures("encoder", "offline", "dictionary")
def test_a_word_of_another_language_lies_half_way_to_its_translations(empty_home: Path, run: Run, english: str) -> None:
    run(*PREPARE, english, "--queries-in", "fr", "--without", "training")
    found = store(empty_home)
    ticket, billet = (found.vectors[found.term_id(*term)] for term in (("en", "ticket"), ("fr", "billet")))
    # The encoder's vectors here are random, so the two were nearly at right angles: half way is 45 degrees.
    assert float(ticket @ billet) == pytest.approx(0.5**0.5, abs=0.15)


@pytest.mark.usefixtures("encoder", "offline")
def test_languages_without_translations_are_not_trained_on(empty_home: Path, run: Run) -> None:
    rows = [row | {"language": row["id"][:2], "group": None} for row in pages("en", "fr")]
    write_rows(empty_home / "apart.jsonl", rows)
    result = run(*PREPARE, "apart.jsonl")
    assert (
        "without training: the documents are in several languages (en 69, fr 69), and none are marked as translations"
        in result.stdout
    )
    assert "--group-field" in result.stdout
    assert (list(store(empty_home).languages), store(empty_home).mapped_languages) == (["en", "fr"], ())


@pytest.mark.usefixtures("offline")
def test_stray_documents_in_other_scripts_are_reported_and_need_no_extra(
    empty_home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reranker.text.segmentation._word_breaker", lambda: None)
    chinese = "猫在房子里睡觉，孩子们在玩耍。"
    strays = [*[chinese] * 2, "Кошка спит в доме, пока дети играют."]
    rows = [*pages("en"), *({"id": f"stray{n}", "text": text} for n, text in enumerate(strays))]
    write_rows(empty_home / "pages.jsonl", rows)
    line = "3 documents in 2 other languages (zh 2, ru 1): not used\n"
    assert line in run(*PREPARE, "pages.jsonl", "--dry-run").stdout
    made = run(*PREPARE, "pages.jsonl", "--without", "encoder")
    assert line in made.stdout
    assert f"69 documents (en 69), {store(empty_home).n_terms:,} words\n{line}" in made.stderr
    report = json.loads(run(*PREPARE, "pages.jsonl", "--without", "encoder", "--json", "--replace").stdout)
    assert report["not_used"] == {"zh": 2, "ru": 1}
    assert store(empty_home).meta["n_documents"] == {"en": 69}
    write_rows(empty_home / "more.jsonl", [*rows, *({"id": f"more{n}", "text": chinese} for n in range(10))])
    cure = "13 documents in 2 other languages (zh 12, ru 1): not used; for zh run: pip install 'sinkrank[words]'\n"
    assert cure in run(*PREPARE, "more.jsonl", "--dry-run").stdout
    refused = run(*PREPARE, "pages.jsonl", "--queries-in", "zh", "--replace", exits=1)
    assert "--queries-in names Chinese, which has no spaces" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["english.jsonl", "--without", "magic"], 2, "there is no part 'magic'; the parts are training, encoder"),
        (["english.jsonl", "--without", "training,encoder"], 2, "all sources of embeddings are left out"),
        (["english.jsonl", "--index", "articles"], 2, "give either files or --index, not both"),
        ([], 2, "--store opensearch://localhost:9200 --index articles"),
        (["--store", "folder", "--index", "articles"], 2, "an index of OpenSearch or Elasticsearch"),
        (["--store", "http://localhost:1"], 2, "--index articles"),
        (["missing.jsonl"], 1, "there is no file 'missing.jsonl'"),
        (["empty.jsonl"], 1, "there are no documents; check the file"),
        (["broken.jsonl"], 1, "there is no document to read: 1 of the documents cannot be used: broken.jsonl"),
        (["broken.jsonl"], 1, "broken.jsonl, line 1"),
        (["english.jsonl", "--group-field", "nothing", "--without", "encoder"], 1, "has a field 'nothing'"),
        (["english.jsonl", "--lang", "english"], 2, "not a language code"),
    ],
)
def test_bad_input_is_told_with_the_cure(
    empty_home: Path, run: Run, english: str, arguments: list[str], exit_code: int, message: str
) -> None:
    (empty_home / "empty.jsonl").write_text("")
    (empty_home / "broken.jsonl").write_text('{"id": "1", "text": \n')
    assert message in run(*PREPARE, *arguments, exits=exit_code).stderr
    assert not (empty_home / ".sinkrank" / "embeddings").exists()


@pytest.mark.any_engine
@pytest.mark.engine
@pytest.mark.usefixtures("encoder", "offline")
def test_the_documents_may_be_an_index_of_ones_own(
    engine: Engine, make_foreign: MakeForeign, empty_home: Path, run: Run
) -> None:
    # No field is called text or body: all text fields are read, and headline is the title.
    fields = {"headline": {"type": "text"}, "body_text": {"type": "text"}}
    index = make_foreign(fields, [{"headline": row["title"], "body_text": row["text"]} for row in pages("en")])
    report = json.loads(run(*PREPARE, "--store", engine.url, "--index", index, "--json").stdout)
    assert [part["name"] for part in report["made"]] == ["training", "encoder"]
    found = store(empty_home)
    assert found.meta["n_documents"] == {"en": 69}
    assert found.term_id("en", "passport") is not None  # of a text alone
    assert left_over(empty_home) == []
    assert list((empty_home / ".sinkrank" / "collections").iterdir()) == []
