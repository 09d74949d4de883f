"""The embedding store: written once, opened by many."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import zlib
from math import cos, pi, sin, sqrt
from pathlib import Path

import numpy as np
import pytest

from reranker.base.errors import (
    BadEmbeddings,
    BadInput,
    NotFound,
    UnknownLanguage,
    UnknownWords,
    VersionMismatch,
)
from reranker.embeddings import Embeddings, EmbeddingsWriter, manifest, writer
from reranker.text.bags import WeightedBag
from tests.support.tiny import POSITIONS, tiny_embeddings, write_embeddings, write_words


@pytest.fixture
def tiny(tmp_path):
    return tiny_embeddings(tmp_path / "store")


def weighted(*pairs):
    return WeightedBag(np.array([i for i, _ in pairs], np.int32), np.array([w for _, w in pairs], np.float64))


def write(path, rows, language="en", **options):
    return write_embeddings(path, {language: rows}, **options)


def test_terms_have_their_rows_in_the_order_of_writing(tiny):
    assert (tiny.n_terms, tiny.dim, tiny.languages) == (10, 2, ("en", "fr"))
    assert (tiny.term_id("en", "cat"), tiny.term_id("fr", "voiture")) == (0, 9)
    assert tiny.term(5) == ("fr", "chat")
    assert tiny.vectors[5] == pytest.approx(POSITIONS["fr"]["chat"])


def test_a_bag_counts_known_and_unknown_words(tiny):
    bag = tiny.bag("Dog, cat DOG? Unicorns!", "en")
    assert (bag.term_ids.tolist(), bag.counts.tolist(), bag.n_unknown) == ([0, 1], [1, 2], 1)
    assert (bag.term_ids.dtype, bag.counts.dtype) == (np.int32, np.int32)


def test_a_number_takes_no_embedding_however_near_its_spelling(tiny):
    bag = tiny.bag("cat1 cat 8601 dog2dog", "en")
    assert (bag.term_ids.tolist(), bag.counts.tolist(), bag.n_unknown) == ([0], [1], 3)
    assert bag.unknown_hashes.tolist() == sorted(map(zlib.crc32, [b"cat1", b"8601", b"dog2dog"]))


def test_a_bag_of_a_language_that_is_not_held_is_empty(tiny):
    bag = tiny.bag("Katze Hund", "de")
    assert (len(bag), bag.n_unknown) == (0, 2)


def test_nbow_is_the_normalised_weighted_mean(tiny):
    # (cat 1/4 + dog 3/4) = (0.85, 0.45), of length sqrt(0.925)
    found = tiny.nbow(weighted((0, 0.25), (1, 0.75)))
    assert found == pytest.approx([0.85 / sqrt(0.925), 0.45 / sqrt(0.925)], abs=1e-6)
    assert found.dtype == np.float32


def test_nbow_of_no_words_or_of_opposite_words_is_none(tiny):
    assert tiny.nbow(weighted()) is None
    assert tiny.nbow(weighted((0, 0.5), (3, 0.5))) is None  # cat and bread lie opposite


@pytest.mark.parametrize("term_id", [10, 900_000_000, -1])
def test_nbow_of_words_of_other_embeddings_is_refused(tiny, term_id):
    with pytest.raises(BadInput, match=f"term id {term_id} is outside the 10 embeddings"):
        tiny.nbow(weighted((0, 0.5), (term_id, 0.5)))


def test_nbow_of_words_that_cancel_out_but_for_rounding_is_none(tmp_path):
    corners = {"abcdefg"[i]: (cos(2 * pi * i / 7), sin(2 * pi * i / 7)) for i in range(7)}
    store = write(tmp_path / "s", corners)
    assert store.nbow(weighted(*((i, 1 / 7) for i in range(7)))) is None


def test_nearest_of_a_word_in_the_other_language_is_its_translation(tiny):
    language, term, cosine = tiny.nearest("Cat", "en", "fr", 1)[0]
    assert (language, term, cosine) == ("fr", "chat", pytest.approx(0.96))


def test_nearest_in_all_languages_leaves_out_the_word_itself_and_is_in_order(tiny):
    found = tiny.nearest("cat", "en", None, 3)
    # cosines with (1, 0) are first coordinates: chat 0.96, dog 0.8, chien 0.6
    assert [(term, round(cosine, 2)) for _, term, cosine in found] == [("chat", 0.96), ("dog", 0.8), ("chien", 0.6)]


def test_nearest_puts_equal_cosines_in_the_order_of_rows(tmp_path):
    store = write(tmp_path / "s", {"a": (1, 0), "b": (0, 1), "c": (0, 1), "d": (0, 1)})
    assert [term for _, term, _ in store.nearest("a", "en", None, 2)] == ["b", "c"]


def test_nearest_of_an_unknown_word_names_near_spellings(tiny):
    with pytest.raises(UnknownWords, match=r"'watr'.*similar words with one: 'water'"):
        tiny.nearest("watr", "en", None, 3)
    with pytest.raises(UnknownWords, match=r"'xyzzy'.*try another"):
        tiny.nearest("xyzzy", "en", None, 3)


def test_nearest_with_a_language_that_is_not_held_names_those_that_are(tiny):
    with pytest.raises(UnknownLanguage, match=r"'de'.*en, fr"):
        tiny.nearest("cat", "en", "de", 3)


def test_document_frequencies_become_an_idf_table_by_language(tmp_path):
    with EmbeddingsWriter(tmp_path / "s", dim=2, source="test") as writer:
        writer.append("en", ["cat", "dog"], np.eye(2), np.array([3, 0]))
        writer.append("fr", ["chat"], np.ones((1, 2)), np.array([2]))
        writer.commit({"en": 4, "fr": 5})
    languages = Embeddings.open(tmp_path / "s").idf.languages
    assert (languages["en"].n_documents, languages["en"].term_ids.tolist(), languages["en"].counts.tolist()) == (
        4,
        [0],
        [3],
    )
    assert (languages["fr"].n_documents, languages["fr"].term_ids.tolist(), languages["fr"].counts.tolist()) == (
        5,
        [2],
        [2],
    )


def test_document_frequencies_for_some_terms_only_are_refused(tmp_path):
    with EmbeddingsWriter(tmp_path / "s", dim=2, source="test") as writer:
        writer.append("en", ["cat", "dog"], np.eye(2), np.array([3, 1]))
        writer.append("en", ["cow"], np.ones((1, 2)))
        with pytest.raises(BadEmbeddings, match="for 2 of 3 terms"):
            writer.commit({"en": 4})


def test_the_version_depends_on_terms_and_vectors_and_on_nothing_else(tmp_path):
    rows = {"cat": (1, 0), "dog": (0, 1)}
    version = write(tmp_path / "a", rows).version
    assert write(tmp_path / "b", rows).version == version
    assert write(tmp_path / "c", rows, language="fr").version != version
    assert write(tmp_path / "d", {"cat": (1, 0), "cow": (0, 1)}).version != version
    assert write(tmp_path / "e", {"cat": (1, 0), "dog": (0.1, 1)}).version != version


def many_terms(path, n_terms=30_000):
    """A store whose vectors are larger than the sample that opening looks at."""
    terms = [
        f"{chr(97 + n // 676 % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}{'x' * (n // 17_576)}"
        for n in range(n_terms)
    ]
    angles = np.linspace(0, 2, n_terms)
    with EmbeddingsWriter(path, dim=2, source="test") as writer:
        writer.append("en", terms, np.stack([np.cos(angles), np.sin(angles)], axis=1), np.arange(n_terms))
        writer.commit({"en": n_terms})
    return path


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("name", ["vectors.npy", "term_bytes.npy", "slots.npy", "spellings.npy", "languages.npy"])
def test_a_changed_byte_is_noticed_at_opening_in_a_small_store(tmp_path, name):
    path = tmp_path / "s"
    list(write(path, {"chat": (1, 0)}).checked_blocks())
    flip(path / name, -1)
    with pytest.raises(BadEmbeddings, match=rf"{name} is damaged: .*`sinkrank embeddings prepare --replace`"):
        Embeddings.open(path)


def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    path = tmp_path / "s"
    write(path, {"chat": (1, 0)})
    opened = Path.open

    def refused(self, *given, **named):
        if self.name == "vectors.npy":
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *given, **named)

    monkeypatch.setattr(Path, "open", refused)  # root may read all
    with pytest.raises(BadEmbeddings, match=r"cannot be read \(.*npy: Permission denied; check its permissions"):
        Embeddings.open(path)


@pytest.mark.parametrize("name", ["vectors.npy", "document_frequencies.npy"])
def test_of_a_larger_file_every_byte_is_found_by_its_block(tmp_path, monkeypatch, name):
    monkeypatch.setattr(manifest, "_CHECKED_AT_OPEN", 0)
    path = many_terms(tmp_path / "s")
    sizes = {file.name: file.stat().st_size for file in path.glob("*.npy")}
    store = Embeddings.open(path)
    assert sum(store.checked_blocks()) == sum(sizes.values())
    flip(path / name, 5500)
    damaged = Embeddings.open(path)
    with pytest.raises(BadEmbeddings, match=rf"{name} is damaged: its bytes 0 to {sizes[name] - 1:,} .*restore"):
        list(damaged.checked_blocks())


def test_embeddings_replaced_under_an_open_store_are_not_called_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "_CHECKED_AT_OPEN", 0)
    store = write(tmp_path / "s", {"cat": (1, 0)})
    write(tmp_path / "s", {"cow": (1, 0), "cat": (0, 1)}, replace=True)
    list(store.checked_blocks())


def test_a_pickled_store_is_opened_again(tiny):
    copy = pickle.loads(pickle.dumps(tiny))
    assert (copy.term_id("fr", "eau"), copy.version) == (7, tiny.version)


def test_a_pickled_store_that_was_replaced_meanwhile_is_a_version_mismatch(tmp_path):
    pickled = pickle.dumps(write(tmp_path / "s", {"cat": (1, 0)}))
    write(tmp_path / "s", {"cow": (1, 0)}, replace=True)
    with pytest.raises(VersionMismatch, match="start the service again"):
        pickle.loads(pickled)


def test_a_store_that_is_not_there_is_not_found_and_the_commands_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        with pytest.raises(NotFound, match="sinkrank embeddings prepare"):
            Embeddings.open(tmp_path / name)


@pytest.mark.parametrize("name", ["vectors.npy", "term_bytes.npy", "term_offsets.npy", "languages.npy", "slots.npy"])
@pytest.mark.parametrize("damage", ["missing", "cut short", "empty", "too long"])
def test_a_damaged_file_is_named(tiny, name, damage):
    file = tiny.path / name
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "too long":
        np.save(file, np.concatenate([np.load(file), np.load(file)]))
    else:
        file.write_bytes(b"" if damage == "empty" else content[:-1])
    with pytest.raises(BadEmbeddings, match=name):
        Embeddings.open(tiny.path)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"format": 99}, VersionMismatch, "format 99 .*`sinkrank embeddings prepare --replace`"),
        ({"tokenizer_version": 0}, VersionMismatch, "tokenizer 0"),
        ({"languages": None}, BadEmbeddings, "was changed"),
        ({"source": "mine"}, BadEmbeddings, "was changed"),
        ({"n_terms": 9}, BadEmbeddings, "damaged"),
    ],
)
def test_meta_that_does_not_fit_is_refused(tiny, change, error, message):
    meta = tiny.path / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), **change}))
    with pytest.raises(error, match=message):
        Embeddings.open(tiny.path)


def test_meta_that_is_not_json_is_refused(tiny):
    (tiny.path / "meta.json").write_text("{")
    with pytest.raises(BadEmbeddings, match="not JSON"):
        Embeddings.open(tiny.path)


def test_nothing_stands_under_the_name_until_the_commit(tmp_path):
    path = tmp_path / "deep" / "store"
    with EmbeddingsWriter(path, dim=2, source="test") as writer:
        writer.append("en", ["cat"], np.ones((1, 2)))
        assert not path.exists()
        writer.commit()
        assert path.exists()
    assert [entry.name for entry in path.parent.iterdir()] == ["store"]


def test_a_store_is_not_overwritten_unless_asked_for(tmp_path):
    write(tmp_path / "s", {"cat": (1, 0)})
    with pytest.raises(BadInput, match="--replace"):
        write(tmp_path / "s", {"cow": (1, 0)})
    assert write(tmp_path / "s", {"cow": (1, 0)}, replace=True).term(0) == ("en", "cow")
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


def test_a_store_is_replaced_where_the_system_swaps_no_folders(tmp_path, monkeypatch):
    write(tmp_path / "s", {"cat": (1, 0)})
    monkeypatch.setattr(writer, "_swap", lambda *_: False)
    assert write(tmp_path / "s", {"cow": (1, 0)}, replace=True).term(0) == ("en", "cow")
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


KILLED_AT_A_RENAME = """
import os, signal, sys
from pathlib import Path
from tests.support.tiny import write_embeddings
path, n_renames = Path(sys.argv[1]), int(sys.argv[2])
def kill_at_rename(event, _):
    global n_renames
    if event == "os.rename":
        n_renames -= 1
        if n_renames < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill_at_rename)
write_embeddings(path, {"en": {"cow": (1, 0)}}, replace=True)
"""
KILLED_WHILE_WRITING = """
import os, signal, sys
import numpy as np
from reranker.embeddings import EmbeddingsWriter
with EmbeddingsWriter(sys.argv[1], dim=2, source="test") as writer:
    writer.append("en", ["cat"], np.ones((1, 2)))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps two folders in one step")
@pytest.mark.parametrize("n_renames", [0, 1, 2])
def test_a_store_whose_replacement_is_killed_is_the_old_one_or_the_new_one(tmp_path, n_renames):
    write(tmp_path / "s", {"cat": (1, 0)})
    run = subprocess.run([sys.executable, "-c", KILLED_AT_A_RENAME, tmp_path / "s", str(n_renames)], check=False)
    assert run.returncode in (0, -signal.SIGKILL)
    assert Embeddings.open(tmp_path / "s").term(0) in [("en", "cat"), ("en", "cow")]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows kills otherwise")
@pytest.mark.parametrize("name", ["s", "[s]"])
def test_what_a_killed_process_wrote_is_deleted_by_the_next_one(tmp_path, name):
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, tmp_path / name], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    os.utime(left, (0, 0))  # of a process that ended long ago
    write(tmp_path / name, {"cow": (1, 0)})
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_failed_replacement_leaves_the_old_store(tmp_path):
    write(tmp_path / "s", {"cat": (1, 0)})
    with pytest.raises(BadEmbeddings):
        write(tmp_path / "s", {"cow": (np.nan, 0)}, replace=True)
    assert Embeddings.open(tmp_path / "s").term(0) == ("en", "cat")
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("chapter1", "years of work"), ("meta.json", '{"lang": "en", "name": "core_web_sm", "version": "3.7.1"}')],
)
def test_a_folder_that_is_no_store_is_never_replaced(tmp_path, name, content):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / name).write_text(content)
    with pytest.raises(BadInput, match="not an embedding store"):
        write(tmp_path / "thesis", {"cat": (1, 0)}, replace=True)
    assert (tmp_path / "thesis" / name).read_text() == content


@pytest.mark.parametrize("change", [{"format": 1}, {"n_terms": 9}])
def test_an_old_or_damaged_store_can_be_replaced(tmp_path, change):
    meta = write(tmp_path / "s", {"cat": (1, 0)}).path / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), **change}))
    assert write(tmp_path / "s", {"cow": (1, 0)}, replace=True).term(0) == ("en", "cow")


@pytest.mark.parametrize(
    ("vector", "message"),
    [((0, 0), "'cow'.*zero vector"), ((np.nan, 1), "'cow'.*NaN"), ((np.inf, 1), "'cow'.*infinity")],
)
def test_a_vector_without_direction_is_refused_with_its_term(tmp_path, vector, message):
    with pytest.raises(BadEmbeddings, match=message):
        write(tmp_path / "s", {"cat": (1, 0), "cow": vector})


def test_vectors_of_another_dimension_are_refused(tmp_path):
    with (
        EmbeddingsWriter(tmp_path / "s", dim=2, source="test") as writer,
        pytest.raises(BadEmbeddings, match=r"\(1, 3\)"),
    ):
        writer.append("en", ["cat"], np.ones((1, 3)))


def test_of_a_term_given_twice_the_first_counts(tmp_path):
    with EmbeddingsWriter(tmp_path / "s", dim=2, source="test") as writer:
        writer.append("en", ["cat", "cat"], np.eye(2))
        writer.append("en-GB", ["cat", "dog"], np.eye(2))
        assert dict(writer.counts) == {"en": 2}
        writer.commit()
    assert Embeddings.open(tmp_path / "s").vectors.tolist() == [[1, 0], [0, 1]]


def test_a_store_without_terms_is_refused(tmp_path):
    with (
        EmbeddingsWriter(tmp_path / "s", dim=2, source="test") as writer,
        pytest.raises(BadEmbeddings, match="no term"),
    ):
        writer.commit()


def test_a_writer_is_used_in_a_with_statement(tmp_path):
    with pytest.raises(BadEmbeddings, match="with statement"):
        EmbeddingsWriter(tmp_path / "s", dim=2, source="test").append("en", ["cat"], np.ones((1, 2)))


def test_an_opened_store_finds_spellings_when_another_takes_its_place(tmp_path):
    opened = write_words(tmp_path / "store", {"en": ["cat", "water"]})
    shutil.rmtree(tmp_path / "store")
    write_words(tmp_path / "store", {"en": ["bread", "butter", "toast"]})
    assert opened.stand_ins("en", "watter") == (opened.term_id("en", "water"),)
