"""Options that are settings come from the settings' declarations, and reach the command."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from reranker.service.settings import Settings
from reranker.service.settings_sources import LoadedSettings
from sinkrank.console.options import SettingOption, takes_settings


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 200)


def test_a_command_gets_its_flags_as_settings_and_the_rest_from_other_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Settings] = []
    app = typer.Typer()

    @app.command()
    @takes_settings("port", "feedback", SettingOption("embeddings", ("--output", "-o")))
    def show(settings: Settings, word: str) -> None:
        found.append(settings)
        typer.echo(word)

    monkeypatch.setenv("SINKRANK_DEPTH", "7")
    (tmp_path / "mine.toml").write_text("port = 1\nmethod = 'rwmd'\n")
    given = ["hello", "--port", "9", "--no-feedback", "-o", "there", "--config", "mine.toml"]
    assert CliRunner().invoke(app, given).stdout == "hello\n"
    (settings,) = found
    assert (settings.port, settings.feedback, settings.embeddings) == (9, False, Path("there"))
    assert (settings.depth, settings.method) == (7, "rwmd")


def test_a_command_may_ask_where_a_value_came_from() -> None:
    app = typer.Typer()

    @app.command()
    @takes_settings("port", "index")
    def show(loaded: LoadedSettings) -> None:
        typer.echo(f"{loaded.origins['port']} {loaded.origins['index']}")

    assert CliRunner().invoke(app, ["--port", "9"]).stdout == "flag default\n"


def test_the_help_shows_description_limits_and_default_of_the_setting() -> None:
    app = typer.Typer()

    @app.command()
    @takes_settings("port", "first_stage", "tau", "feedback")
    def show(settings: Settings) -> None:
        """Nothing."""

    shown = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    assert "Port to listen on; 0 picks a free one (0 to 65,535). [default: (8080)]" in shown
    assert "How candidates are fetched (auto, knn, bm25, translated, hybrid). [default: (auto)]" in shown
    assert "Penalty of relaxed for leaving the document's weights (0 or more); default: epsilon." in shown
    assert "moved towards its best candidates. [default: (on)]" in shown


def test_a_value_beyond_the_limits_of_the_setting_is_refused() -> None:
    app = typer.Typer()

    @app.command()
    @takes_settings("port")
    def show(settings: Settings) -> None:
        """Nothing."""

    error = CliRunner().invoke(app, ["--port", "65536"]).exception
    assert "setting port (from flag)" in str(error)
    assert "less than or equal to 65535; got '65536'" in str(error)
