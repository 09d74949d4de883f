"""The engines' published REST tests: reads the APIs and the tests in the jar that holds them.

Nothing of a jar is in the repository. Not every version is published: each engine is given the nearest one with tests.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import regex
import yaml

from reranker.text.normalization import normalize_term

_TESTS = "rest-api-spec/test/"
_APIS = "rest-api-spec/api/"


@dataclass(frozen=True)
class Published:
    """A jar of Maven Central with its digest.

    Attributes:
        media_version: the version of the API that the tests were written for, where it is not the engine's.
    """

    coordinates: str
    sha256: str
    media_version: int | None = None


PUBLISHED = {
    "opensearch-2.19.1": Published(
        "org.opensearch:rest-api-spec:2.19.0", "4dec3e0c48343aa6bdc0bc745a0e166b2bb66ded90690e6794146bc7038663e5"
    ),
    "opensearch-3.5.0": Published(
        "org.opensearch:rest-api-spec:3.1.0", "fbaced31d6144a2aa816bfe5525c7bfdd13b2d7681e341a7a09f6ade4df2759e"
    ),
    # Of 8.x no jar is published, and those of 9.x hold no tests; 8.15 still speaks 7 when asked to.
    "elasticsearch-8.15.5": Published(
        "org.elasticsearch:rest-api-spec:7.10.2", "142f3c90c1dba2e206476e7775bfbac387dce07e3edc822b2b2b82d2ee541249", 7
    ),
}


@dataclass(frozen=True)
class Api:
    """An API of the specification: its paths, each with its methods and the names of its parts."""

    name: str
    paths: list[tuple[str, list[str], frozenset[str]]]
    is_bulk: bool

    def choose(self, names: frozenset[str], has_body: bool) -> tuple[str, str, frozenset[str]]:
        """Method, path and parts: the path with most parts of those given; a body goes with a method that may have one.

        Raises:
            ValueError: a part that every path needs is not given.
        """
        fitting = [path for path in self.paths if path[2] <= names]
        if not fitting:
            raise ValueError(f"{self.name} needs more parts than {sorted(names)}")
        path, methods, parts = max(fitting, key=lambda path: len(path[2]))
        method = next((one for one in methods if one in ("POST", "PUT")), methods[0]) if has_body else methods[0]
        return method, path, parts


Step = dict[str, Any]


@dataclass(frozen=True)
class RestTest:
    """A test: the steps that prepare it, its own, and those that clean up, each `{kind: argument}`."""

    name: str
    setup: list[Step] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    teardown: list[Step] = field(default_factory=list)

    def calls(self) -> list[Step]:
        """The arguments of its requests: the API with its own, and what is expected of the answer."""
        return [step["do"] for step in [*self.setup, *self.steps, *self.teardown] if "do" in step]


@dataclass(frozen=True)
class RestSuite:
    """The APIs by their names, the tests by theirs in order, and every word that the tests hold."""

    apis: dict[str, Api]
    tests: list[RestTest]
    words: list[str]


def read_suite(jar: Path) -> RestSuite:
    """The APIs and the tests of a jar."""
    with zipfile.ZipFile(jar) as archive:
        names = sorted(archive.namelist())
        apis = [
            _api(json.loads(archive.read(name)))
            for name in names
            if name.startswith(_APIS) and name.endswith(".json") and not Path(name).name.startswith("_")
        ]
        texts = {
            name: archive.read(name).decode() for name in names if name.startswith(_TESTS) and name.endswith(".yml")
        }
    tests = [
        test for name, text in texts.items() for test in _tests(name.removeprefix(_TESTS).removesuffix(".yml"), text)
    ]
    words = {normalize_term(word) for text in texts.values() for word in regex.findall(r"\p{L}[\p{L}\p{M}]*", text)}
    return RestSuite({api.name: api for api in apis}, tests, sorted(words))


def _api(specification: dict[str, Any]) -> Api:
    ((name, content),) = specification.items()
    paths = [(path["path"], path["methods"], frozenset(path.get("parts", {}))) for path in content["url"]["paths"]]
    return Api(name, paths, (content.get("body") or {}).get("serialize") == "bulk")


class _Loader(yaml.CSafeLoader):  # type: ignore[misc]
    """Leaves dates as they are written."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _tests(file: str, text: str) -> Iterator[RestTest]:
    sections: dict[str, list[Step]] = {}
    for part in yaml.load_all(text, Loader=_Loader):
        sections.update(part or {})
    setup = sections.pop("setup", None) or []
    teardown = sections.pop("teardown", None) or []
    for name, steps in sections.items():
        yield RestTest(f"{file}/{name}", setup, steps or [], teardown)
