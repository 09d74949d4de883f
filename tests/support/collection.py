"""pytest plugin: collects the tests in half the processor time.

Python's collector of cycles would go through all modules and tests again and again, and find nothing: it rests while
tests are collected, and leaves out what there is by then.

With xdist every process collects every test, and rewrites the assertions of every test module that was not rewritten
before, which takes longer than to run it. So each process imports the modules in an order of its own, and finds most of
them as another has rewritten them.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True, specname="pytest_collection")  # after pytest has set how warnings are taken
def import_modules(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        return
    number, count = int(os.environ["PYTEST_XDIST_WORKER"][2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    modules = _test_modules(session.config)
    first = len(modules) * number // count
    for name in modules[first:] + modules[:first]:
        # What fails here fails again, and is told, when pytest collects the module.
        with suppress(Exception, pytest.skip.Exception):
            import_module(name)


def _test_modules(config: pytest.Config) -> list[str]:
    """The names of the test modules that are to be collected."""
    given = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    paths = {path for one in given for path in ([one] if one.is_file() else one.rglob("test_*.py"))}
    inside = (path.relative_to(config.rootpath) for path in sorted(paths) if path.is_relative_to(config.rootpath))
    return [".".join(path.with_suffix("").parts) for path in inside if path.name.startswith("test_")]
