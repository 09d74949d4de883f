"""Options that are settings come from the settings' declarations."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from reranker.base.errors import WrongParameter
from reranker.service.settings import Settings
from sinkrank.console.options import takes_settings


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 200)


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


@pytest.mark.parametrize("option", ["--home", "--embeddings", "--api-keys", "--index"])
def test_an_option_whose_value_is_empty_is_wrong_use(option: str) -> None:
    app = typer.Typer()

    @app.command()
    @takes_settings("home", "embeddings", "api_keys", "index")
    def show(settings: Settings) -> None:
        """Nothing."""

    with pytest.raises(WrongParameter, match="is empty"):
        CliRunner().invoke(app, [option, ""], catch_exceptions=False)
