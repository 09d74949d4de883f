"""The results of a side on a collection, as one JSON file each, and the choice of a side's share without the collection
that it is reported for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from reranker.base.errors import BadInput
from reranker.base.whole_files import write_whole
from sinkrank.actions.judged import MEASURE
from sinkrank.evaluation.comparison import Run, Way

KEPT = (MEASURE, "judged@10", "MRR")
"""The measures that are kept by query."""

EQUAL = "0.50"
"""The share where no other collection can choose one."""


@dataclass(frozen=True)
class SideResult:
    """A side on a collection.

    Attributes:
        language: of queries and documents.
        shares: the value by measure and query id, for each share of the side's own score; one if it mixes
            nothing.
        query_ms, document_ms: CPU time of a query with the first stage's search, and of a document, once. None: not
            measured.
        prepare_ms: CPU time of `prepare` for each document, which is besides; None without it, or if it is not known.
        machine: the processor.
    """

    collection: str
    side: str
    language: str
    n_documents: int
    shares: Mapping[str, Mapping[str, Mapping[str, float]]]
    query_ms: float | None
    document_ms: float | None
    machine: str
    prepare_ms: float | None = None

    def run(self, share: str) -> Run:
        """The values with this share, as a run without its ranking."""
        return Run(Way(self.side, self.side), {}, self.shares[share])


def result_path(folder: Path, side: str) -> Path:
    """The file of a side's result in the folder of a collection."""
    return folder / f"{side}.json"


def write_result(folder: Path, result: SideResult) -> None:
    """Writes a result into the folder of its collection."""
    write_whole(result_path(folder, result.side), json.dumps(asdict(result)).encode())


def read_results(folder: Path, sides: Iterable[str]) -> dict[str, dict[str, SideResult]]:
    """Returns the results of a folder by collection, then by side, both in a fixed order.

    Raises:
        BadInput: a file is not of this form.
    """
    found: dict[str, dict[str, SideResult]] = {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        for side in sides:
            path = result_path(place, side)
            if not path.is_file():
                continue
            try:
                result = SideResult(**json.loads(path.read_bytes()))
            except (ValueError, TypeError) as error:
                raise BadInput(f"{path} is not a result of a side ({error}); delete it") from error
            found.setdefault(result.collection, {})[side] = result
    return found


def family(collection: str) -> str:
    """What a collection shares with its translations: `xquad` of `xquad-en-en` and `xquad-el-el`."""
    return collection.partition("-")[0]


def chosen_share(collection: str, results: Mapping[str, SideResult]) -> str:
    """The share with the highest mean nDCG@10 over the other collections; of equal ones that nearest to equal parts.

    Args:
        results: of one side, by collection. Translations of this collection choose nothing either.
    """
    shares = list(results[collection].shares)
    others = [result for name, result in results.items() if family(name) != family(collection)]
    if len(shares) == 1:
        return shares[0]
    if not others:
        return EQUAL
    means = {share: sum(other.run(share).mean(MEASURE) for other in others) / len(others) for share in shares}
    return max(shares, key=lambda share: (means[share], -abs(float(share) - float(EQUAL))))
