"""`python -m papers.held_out` on the shipped texts, and the embeddings that it trains for them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from papers.held_out.command import app
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from sinkrank.demo import load_parallel_texts
from sinkrank.demo.trained import open_trained, train_on
from tests.support.tiny import tiny_embeddings


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


def evaluate(home, *arguments):
    return CliRunner().invoke(app, ["--corpus", "texts", "--home", str(home), *arguments])


def rows_of(done):
    """The rows of the table, as their cells."""
    rows = [line.strip("| \n").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    return rows[2:]


def test_it_prints_and_writes_the_report(home, tmp_path):
    done = evaluate(home, "--directions", "fr-en", "--queries", "halves", "--output", str(tmp_path / "out"))

    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "evaluation.md").read_text(encoding="utf-8") == done.stdout
    methods = ["nbow", "rwmd", "sinkhorn", "relaxed", "auto", "auto, stripped"]
    assert [row[:3] for row in rows_of(done)] == [["fr-en", name, "16"] for name in methods]
    assert "evaluation.md" in done.stderr


def test_all_methods_are_measured_on_as_many_pages_as_asked(home):
    done = evaluate(home, "--directions", "en-de", "--queries", "pages", "--methods", "all", "--limit", "4")

    methods = ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto", "auto, stripped"]
    assert [row[:3] for row in rows_of(done)] == [["en-de", name, "4"] for name in methods]


def test_the_same_command_gives_the_same_report_twice(home):
    arguments = ("--directions", "de-en", "--queries", "first20", "--methods", "relaxed", "--limit", "9")

    assert evaluate(home, *arguments).stdout == evaluate(home, *arguments).stdout


def test_embeddings_that_are_named_are_evaluated_as_they_are(home, tmp_path):
    theirs = train_on(load_parallel_texts(), home / "evaluation" / "texts" / "embeddings")

    done = evaluate(tmp_path, "--embeddings", str(theirs.path), "--directions", "fr-en", "--queries", "pages")

    assert f"Embeddings: version {theirs.version}," in done.stdout
    assert not (tmp_path / "evaluation" / "texts" / "embeddings").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--corpus", "wikipedia"), "libreoffice"),
        (("--directions", "fr-en-de"), "not a direction"),
        (("--directions", "en-en"), "the same language twice"),
        (("--directions", "qq-en"), "'qq'"),
        (("--directions", "el-en"), "it has en, fr, de"),
        (("--queries", "tweets"), "kind of query"),
        (("--methods", "sinkhron"), "sinkhorn"),
        (("--methods", ","), "methods are none"),
        (("--limit", "-1"), "--limit"),
        (("--unknown-words", "some"), "skip, parts, paper"),
        (("--candidates", "--systems", "tf-idf"), "leave out --candidates"),
        (("--systems", "tfidf"), "did you mean 'tf-idf'"),
    ],
)
def test_wrong_arguments_end_with_a_sentence_before_anything_is_written(tmp_path, arguments, said):
    done = evaluate(tmp_path, *arguments)

    assert done.exit_code != 0
    assert said in f"{done.stderr} {done.exception}"
    assert not (tmp_path / "evaluation").exists()


def test_embeddings_are_trained_once_for_a_corpus_and_anew_for_other_training_pages(tmp_path):
    texts = load_parallel_texts()
    corpus = replace(texts, train_pages=texts.train_pages[:60])
    first = train_on(corpus, tmp_path / "embeddings")

    assert train_on(corpus, tmp_path / "embeddings").version == first.version
    fewer = replace(corpus, train_pages=corpus.train_pages[:30])
    assert open_trained(tmp_path / "embeddings", fewer) is None
    assert train_on(fewer, tmp_path / "embeddings").version != first.version


def test_no_word_of_a_test_page_alone_is_in_the_embeddings(home):
    corpus = load_parallel_texts()
    embeddings = train_on(load_parallel_texts(), home / "evaluation" / "texts" / "embeddings")

    known = set().union(*(embeddings.bag(page.text, page.language).term_ids for page in corpus.train_pages))

    assert known == set(range(embeddings.n_terms))


def test_embeddings_of_somebody_else_are_not_replaced(tmp_path):
    theirs = tiny_embeddings(tmp_path / "embeddings")

    with pytest.raises(BadInput, match="not replaced"):
        train_on(load_parallel_texts(), theirs.path)

    assert Embeddings.open(theirs.path).version == theirs.version


def test_what_is_chosen_can_be_chosen_on_a_part_of_the_training_pages(home, tmp_path):
    arguments = ("--directions", "fr-en", "--queries", "first8", "--methods", "nbow", "--output", str(tmp_path))
    done = evaluate(home, "--development", *arguments)

    assert "development half of the training pages" in done.stdout
    assert "trained on the training pages alone" in done.stdout
    assert (home / "evaluation" / "texts-development" / "embeddings").is_dir()
