"""Settings from `.env` of the working folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.base.errors import BadInput
from reranker.service.settings_sources import load_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("SINKRANK_PORT", "SINKRANK_DEPTH", "SINKRANK_INDEX", "SINKRANK_STORE_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_real_environment_beats_the_file_which_beats_the_settings_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env").write_text("# ours\nexport SINKRANK_PORT=8\nSINKRANK_DEPTH='7'\nOTHER=x\nSINKRANK_INDEX=\n")
    (folder / "sinkrank.toml").write_text("depth = 2\nmax_documents = 3\n")
    monkeypatch.setenv("SINKRANK_PORT", "9")
    loaded = load_settings()
    settings = loaded.settings
    assert (settings.port, settings.depth, settings.max_documents, settings.index) == (9, 7, 3, None)
    assert [loaded.origins[name] for name in ("port", "depth", "max_documents")] == [
        "environment",
        ".env",
        "sinkrank.toml",
    ]


def test_a_password_is_taken_as_it_stands(folder: Path) -> None:
    (folder / ".env").write_text("SINKRANK_STORE_PASSWORD='a$HOME${PATH}#b'\n")
    password = load_settings().settings.store_password
    assert password is not None
    assert password.get_secret_value() == "a$HOME${PATH}#b"


def test_an_unknown_variable_is_an_error_that_names_the_nearest(folder: Path) -> None:
    (folder / ".env").write_text("SINKRANK_PROT=1\n")
    with pytest.raises(BadInput, match=r"SINKRANK_PROT \(from \.env\).*did you mean 'port'"):
        load_settings()


def test_an_environment_that_is_given_is_all_there_is(folder: Path) -> None:
    (folder / ".env").write_text("SINKRANK_PORT=8\n")
    assert load_settings(environ={}).settings.port == 8080


def test_a_file_that_is_no_text_is_bad_input(folder: Path) -> None:
    (folder / ".env").write_bytes(b"SINKRANK_PORT=\xff\n")
    with pytest.raises(BadInput, match=r"\.env cannot be read"):
        load_settings()
