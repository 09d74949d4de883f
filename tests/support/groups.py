"""pytest plugin: with several processes, the tests of one group run in one of them, and groups that take long begin.

A group shares what is expensive to start: an engine, a browser, trained embeddings. It is all tests of one engine, or
of one file. Tests of the first engine, which are by far the most, are two groups with a node each.

xdist's own `--dist loadgroup` tells the groups in the tests' ids, which pytest 9.2 no longer lets it change: every test
would be a group of its own, and every process would start every engine. Here each process writes the groups of its
tests to a file.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.engines.assemble import find_recipe
from tests.support.engines.fixtures import engine_of
from tests.support.engines.sources import chosen_engines, given_url

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

_INPUT = "sinkrank_groups"
_FOLDER = pytest.StashKey[Path]()
_ON_THE_SECOND_NODE = ("api", "proxy", "service", "serving", "stores")
_FIRST = ("engine", "corpus", "slow")


def group_of(item: pytest.Item) -> str:
    """Tests of one engine, so that it is started once; those that fetch a corpus; all others by their file."""
    if engine := engine_of(item):
        return f"{engine}, second node" if _is_for_a_second_node(item, engine) else engine
    return "corpus" if item.get_closest_marker("corpus") else item.path.as_posix()


def _is_for_a_second_node(item: pytest.Item, engine: str) -> bool:
    """Whether this is a test of the service or the stores on the first engine, if each process starts its own."""
    folder, package = item.path.relative_to(item.config.rootpath).parts[:2]
    is_of_them = folder == "tests" and package in _ON_THE_SECOND_NODE
    return is_of_them and engine == chosen_engines()[0] and not given_url(find_recipe(engine))


@pytest.hookimpl(trylast=True)  # after pytest has put tests together by their fixtures
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a process among several, long groups come first: the short ones fill what time is left in each."""
    if not hasattr(config, "workerinput"):
        return
    groups = {item: group_of(item) for item in items}
    ranks = dict.fromkeys(groups.values(), len(_FIRST))
    for item, group in groups.items():
        ranks[group] = min(ranks[group], _rank(item))
    sizes = Counter(groups.values())
    items.sort(key=lambda item: (ranks[groups[item]], -sizes[groups[item]], groups[item]))


def _rank(item: pytest.Item) -> int:
    return next((rank for rank, name in enumerate(_FIRST) if item.get_closest_marker(name)), len(_FIRST))


@pytest.hookimpl(tryfirst=True)  # before xdist tells that the tests are collected
def pytest_collection_finish(session: pytest.Session) -> None:
    given = getattr(session.config, "workerinput", {})
    if _INPUT in given:
        groups = {item.nodeid: group_of(item) for item in session.items}
        Path(given[_INPUT], f"{given['workerid']}.json").write_text(json.dumps(groups), encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the process that hands the tests out, for each of those that run them."""
    node.workerinput[_INPUT] = str(_folder(node.config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return scheduler(config, log, _folder(config)) if config.getoption("dist") == "loadscope" else None


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FOLDER in config.stash:
        shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)


def _folder(config: pytest.Config) -> Path:
    if _FOLDER not in config.stash:
        config.stash[_FOLDER] = Path(tempfile.mkdtemp(prefix="sinkrank-groups-"))
    return config.stash[_FOLDER]


def scheduler(config: pytest.Config, log: Any, folder: Path) -> LoadScopeScheduling:
    """Hands out whole groups; by then every process has written those of its tests to `folder`."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
        @cached_property
        def _groups(self) -> dict[str, str]:
            files = (json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json"))
            return {test: group for file in files for test, group in file.items()}

        def _split_scope(self, nodeid: str) -> str:
            return self._groups[nodeid]

    return GroupScheduling(config, log)
