"""Options that several commands take, and the settings that they lead to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from reranker.service.settings import LoadedSettings

_PANEL = "Settings (also SINKRANK_… in the environment, or sinkrank.toml)"

Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="DIR",
        rich_help_panel=_PANEL,
        help="Folder of the default store and embeddings (default: .sinkrank).",
    ),
]
EmbeddingsPath = Annotated[
    Path | None,
    typer.Option("--embeddings", metavar="DIR", rich_help_panel=_PANEL, help="Embedding store (HOME/embeddings)."),
]
StoreAddress = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="ADDRESS",
        rich_help_panel=_PANEL,
        help="A folder (HOME/store), or opensearch://, elasticsearch://, https:// HOST:PORT. User and password: "
        "SINKRANK_STORE_USERNAME, SINKRANK_STORE_PASSWORD.",
    ),
]
IndexName = Annotated[
    str | None,
    typer.Option("--index", metavar="NAME", rich_help_panel=_PANEL, help="Index (the store's only one)."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", rich_help_panel=_PANEL, help="Settings file (./sinkrank.toml)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]

QueryLanguage = Annotated[
    str | None, typer.Option("--lang", metavar="CODE", help="Language of the text; guessed where it is not given.")
]
Method = Annotated[
    str | None,
    typer.Option("--method", metavar="NAME", help="auto, relaxed, sinkhorn, emd, rwmd, nbow (default: auto)."),
]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", help="Entropic regularisation, in the unit of the cost (default: 0.1).")
]
Tau = Annotated[float | None, typer.Option("--tau", help="Price of leaving the document's weights (default: epsilon).")]

KnnWeight = Annotated[
    float | None,
    typer.Option("--knn-weight", help="Of kNN in the first stage hybrid, 0 to 1; BM25 has the rest (default: 0.5)."),
]
FirstStage = Annotated[
    str | None,
    typer.Option(
        "--first-stage", help="What fetches the candidates: auto, knn, bm25, translated or hybrid (default: auto)."
    ),
]
Depth = Annotated[int | None, typer.Option("--depth", help="Candidates to re-rank (default: 100).")]
DocumentLanguages = Annotated[
    list[str] | None, typer.Option("--to", metavar="CODE", help="Language of the documents; may be repeated.")
]
Feedback = Annotated[
    bool | None,
    typer.Option(
        "--feedback/--no-feedback", help="Score again with the query moved towards its best candidates (default: on)."
    ),
]


def load(config: Path | None, **flags: Any) -> LoadedSettings:
    """The settings, flags first; a flag that is None was not given.

    Raises:
        BadInput: as `reranker.service.settings.load_settings`.
    """
    from reranker.service.settings import load_settings

    return load_settings(flags, file=config)
