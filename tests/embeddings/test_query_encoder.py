"""Queries encoded by the sentence encoder of an embedding store; vectors by hand from support/query_encoder.py."""

import logging
import os
import pickle
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from reranker.base.errors import BadEmbeddings
from reranker.embeddings import Embeddings
from reranker.embeddings.query_encoder import QueryEncoder, QueryModel
from tests.support.query_encoder import encoder_files, encoding_embeddings
from tests.support.tiny import tiny_embeddings
from tests.support.waiting import PATIENCE_S

pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")
pytest.importorskip("tokenizers", reason="needs pip install 'sinkrank[prepare]'")


@pytest.fixture
def embeddings(tmp_path):
    return encoding_embeddings(tmp_path / "store")


def vector(embeddings, text, language="en"):
    return embeddings.query_encoding(text, language)().result()


def test_the_mean_is_taken_off_and_the_rest_has_length_1(embeddings):
    """vessel is (0, 1), less (0.6, 0): (-0.6, 1)."""
    assert vector(embeddings, "vessel") == pytest.approx(np.array([-0.6, 1.0]) / np.sqrt(1.36))


def test_a_prefix_comes_before_each_query(tmp_path):
    model = QueryModel("tiny", ["en"], query_prefix="vessel ")
    prefixed = encoding_embeddings(tmp_path / "store", encoder_files(model=model))
    plain = encoding_embeddings(tmp_path / "plain")
    assert vector(prefixed, "feline") == pytest.approx(vector(plain, "vessel feline"))


def test_of_a_long_query_the_beginning_is_read(embeddings):
    assert vector(embeddings, "vessel " * 64 + "feline " * 100) == pytest.approx(vector(embeddings, "vessel"))


def test_other_keys_of_its_entry_are_ignored(embeddings):
    (encoder,) = embeddings.query_encoders
    entry = {**encoder.model.meta(), "other": "mean"}
    assert QueryEncoder.open(embeddings.path, entry, embeddings.dim).model == encoder.model


def test_a_query_in_another_language_is_not_encoded(embeddings):
    assert embeddings.query_encoding("chat", "fr") is None


def test_each_language_has_a_mean_of_its_own(tmp_path):
    """vessel is (0, 1), less (0, 0.5) in French: (0, 0.5)."""
    files = encoder_files(model=QueryModel("tiny", ["en", "fr"]))
    files = type(files)(files.model, files.onnx, files.tokenizer, np.array([[0.6, 0.0], [0.0, 0.5]], np.float32))
    found = encoding_embeddings(tmp_path / "store", files)
    assert vector(found, "vessel", "fr") == pytest.approx(np.array([0.0, 1.0]))
    assert vector(found, "vessel", "en") == pytest.approx(np.array([-0.6, 1.0]) / np.sqrt(1.36))


def test_a_second_encoder_reads_other_languages_and_is_mapped_into_the_space_of_the_store(tmp_path):
    """vessel less the mean is (-0.6, 1); the map turns it to (1, 0.6)."""
    files = encoder_files()
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]], np.float32)
    model = QueryModel("other", ["fr"], is_mapped=True)
    other = type(files)(model, files.onnx, files.tokenizer, files.means, quarter)
    found = tiny_embeddings(tmp_path / "store", [files, other])
    assert [encoder.model.name for encoder in found.query_encoders] == ["tiny", "other"]
    assert vector(found, "vessel", "fr") == pytest.approx(np.array([1.0, 0.6]) / np.sqrt(1.36))
    assert vector(found, "vessel", "en") == pytest.approx(np.array([-0.6, 1.0]) / np.sqrt(1.36))


def test_a_text_that_is_only_the_mean_has_no_direction(tmp_path):
    files = encoder_files()
    at_mean = type(files)(files.model, files.onnx, files.tokenizer, np.array([[1.0, 0.0]], np.float32))
    assert vector(encoding_embeddings(tmp_path / "store", at_mean), "feline") is None


def test_the_same_query_is_encoded_once(embeddings):
    (encoder,) = embeddings.query_encoders
    assert encoder.begin("feline", "en") is encoder.begin("feline", "en")
    assert encoder.begin("feline", "en") is not encoder.begin("vessel", "en")


def test_a_query_that_could_not_be_encoded_is_tried_again(embeddings, monkeypatch, caplog):
    def fail(self, text):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as failing, caplog.at_level(logging.WARNING):
        failing.setattr("reranker.embeddings.onnx_session.OnnxSession.vector", fail)
        assert vector(embeddings, "vessel") is None
    assert "a query was not encoded" in caplog.text
    assert "out of memory" in caplog.text
    assert vector(embeddings, "vessel") is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_encodes_too(embeddings):
    before = vector(embeddings, "vessel")
    child = os.fork()
    if child == 0:
        same = np.allclose(vector(embeddings, "vessel"), before)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows replaces no open file")
def test_a_store_that_was_replaced_since_it_was_opened_keeps_its_encoder(tmp_path):
    """A process of the service that is forked after `--replace` has the vectors of before, and so the model too."""
    opened = encoding_embeddings(tmp_path / "store")
    broken = encoding_embeddings(tmp_path / "other", encoder_files(onnx=b"no model"))
    (tmp_path / "store").rename(tmp_path / "before")
    broken.path.rename(tmp_path / "store")
    shutil.rmtree(tmp_path / "before")
    assert vector(opened, "vessel") == pytest.approx(np.array([-0.6, 1.0]) / np.sqrt(1.36))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_forked_while_the_model_loads_encodes_too(embeddings):
    """In a process of its own, which has not imported onnxruntime yet. The thread that loads does not go on in the
    child, so that what it has locked stays locked there, also in Python's import."""
    code = (
        "import os, sys, threading\n"
        "from pathlib import Path\n"
        "from reranker.embeddings import Embeddings\n"
        "embeddings = Embeddings.open(Path(sys.argv[1]))\n"
        "(encoder,) = embeddings.query_encoders\n"
        "begun = threading.Event()\n"
        "class Noted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('onnxruntime.'):\n"
        "            begun.set()\n"
        "sys.meta_path.insert(0, Noted())\n"
        "encoder.begin('vessel', 'en')\n"
        "begun.wait()\n"
        "child = os.fork()\n"
        "found = embeddings.query_encoding('vessel', 'en')().result()\n"
        "if not child:\n"
        "    os._exit(0 if found is not None else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(embeddings.path)], start_new_session=True) as process:
        try:
            assert process.wait(PATIENCE_S) == 0
        finally:
            if process.poll() is None:  # the child too
                os.killpg(process.pid, signal.SIGKILL)


def test_a_pickled_store_keeps_its_encoder(embeddings):
    assert len(pickle.loads(pickle.dumps(embeddings)).query_encoders) == 1


def test_a_model_that_cannot_be_read_is_told_once_and_searches_go_on(tmp_path, caplog):
    broken = encoding_embeddings(tmp_path / "store", encoder_files(onnx=b"no model"))
    with caplog.at_level(logging.WARNING):
        both = [broken.query_encoding(text, "en") for text in ("feline", "vessel")]
        assert [each().result() for each in both] == [None, None]
    (told,) = caplog.messages
    assert "no query is encoded" in told
    assert "the model tiny cannot be read" in broken.query_encoders[0].problem


def test_without_onnxruntime_the_extra_is_named(embeddings, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with caplog.at_level(logging.WARNING):
        assert vector(embeddings, "feline") is None
    assert "pip install 'sinkrank[prepare]'" in embeddings.query_encoders[0].problem


@pytest.mark.parametrize("name", ["tiny-encoder.onnx", "tiny-encoder.tokenizer.json", "tiny-encoder_means.npy"])
def test_a_damaged_file_is_found_when_the_store_is_opened(embeddings, name):
    path = embeddings.path / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadEmbeddings, match=name):
        Embeddings.open(embeddings.path)


def test_the_mean_has_as_many_dimensions_as_the_store(tmp_path):
    files = encoder_files()
    with pytest.raises(BadEmbeddings, match=r"have the shapes \[\(1, 3\)\], but the store has 2 dimensions"):
        encoding_embeddings(
            tmp_path / "store", type(files)(files.model, files.onnx, files.tokenizer, np.zeros((1, 3), np.float32))
        )


@pytest.mark.slow
def test_onnxruntime_writes_no_file_and_no_line_of_its_own(embeddings, tmp_path):
    """It keeps a telemetry database in the home folder, and warns in colour where it cannot."""
    code = (
        "import sys\n"
        "from reranker.embeddings import Embeddings\n"
        "(encoder,) = Embeddings.open(sys.argv[1]).query_encoders\n"
        "print(*encoder.query('vessel', 'en')().result().round(3))\n"
        "from reranker.embeddings.onnx_session import OnnxSession\n"
        "try:\n"
        "    OnnxSession(encoder.model.name, b'no model', b'', 8)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__)\n"
    )
    # On a build machine, or where a variable forbids it, it sends nothing anyway.
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TMPDIR", "LANG") if name in os.environ}
    home = tmp_path / "home"
    home.mkdir()
    for where in (home, tmp_path / "missing"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(embeddings.path)],
            env={**kept, "HOME": str(where)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == ("-0.514 0.857\nBadInput\n", "")  # (-0.6, 1) at length 1
    assert list(home.rglob("*")) == []
