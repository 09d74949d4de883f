"""Finds an engine for the tests: a URL that is given, a container, or a node assembled from Maven Central."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache

import urllib3

from tests.support.engines.assemble import find_recipe
from tests.support.engines.errors import EngineUnavailable
from tests.support.engines.nodes import FOR_BROWSERS, START_LIMIT_S, cluster_answers, start_node
from tests.support.engines.recipes import TESTED, Recipe

ENGINES_VARIABLE = "SINKRANK_TEST_ENGINES"
URL_VARIABLES = {"opensearch": "OPENSEARCH_URL", "elasticsearch": "ELASTICSEARCH_URL"}
HTTP_PORT = 9200


@dataclass(frozen=True)
class Engine:
    """A search engine that answers at `url`; `name` is `distribution-version`."""

    name: str
    url: str
    distribution: str
    version: str


def chosen_engines() -> list[str]:
    """Names of the engines to test, in the order of the recipes; SINKRANK_TEST_ENGINES restricts them.

    Where OPENSEARCH_URL is set, it stands for every OpenSearch, and the first name stands for it.
    Raises ValueError for a name that is not known.
    """
    known = [recipe.name for recipe in TESTED]
    wanted = [part.strip() for part in os.environ.get(ENGINES_VARIABLE, "").split(",") if part.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"{ENGINES_VARIABLE} names {unknown[0]!r}, expected some of {', '.join(known)}")
    by_place: dict[str, str] = {}
    for recipe in TESTED:
        if not wanted or recipe.name in wanted:
            by_place.setdefault(given_url(recipe) or recipe.name, recipe.name)
    return list(by_place.values())


@cache
def repeated_engines() -> frozenset[str]:
    """Those of the chosen engines that are another version of one before them."""
    first = {find_recipe(name).distribution: name for name in reversed(chosen_engines())}
    return frozenset(chosen_engines()) - set(first.values())


def given_url(recipe: Recipe) -> str:
    """The URL that the environment gives for this distribution, without a slash at its end; empty if none."""
    return os.environ.get(URL_VARIABLES[recipe.distribution], "").rstrip("/")


class EnginePool:
    """Starts each engine on first use and stops them all at the end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._engines: dict[str, Engine] = {}

    def close(self) -> None:
        """Stop every engine that this pool started."""
        self._stack.close()

    def get(self, name: str) -> Engine:
        """The engine of that recipe; EngineUnavailable names the three ways to have one."""
        place = given_url(find_recipe(name)) or name
        if place not in self._engines:
            self._engines[place] = self._stack.enter_context(open_engine(name))
        return self._engines[place]


@contextmanager
def open_engine(name: str) -> Iterator[Engine]:
    """One engine from the first source there is: the given URL, then Docker, then Maven Central."""
    recipe = find_recipe(name)
    with ExitStack() as stack:
        if given_url(recipe):
            engine = _engine_at(given_url(recipe), recipe)
        elif docker_answers():
            engine = stack.enter_context(_container(recipe))
        else:
            engine = stack.enter_context(_assembled_node(recipe))
        yield engine


def _engine_at(url: str, recipe: Recipe) -> Engine:
    """The engine that runs at `url`, with the version that it gives itself."""
    variable = URL_VARIABLES[recipe.distribution]
    where = urllib3.util.parse_url(url)
    headers = urllib3.make_headers(basic_auth=where.auth) if where.auth else {}
    try:
        answer = urllib3.request("GET", where._replace(auth=None).url, headers=headers, timeout=30, retries=False)
        version = str(answer.json()["version"]["number"])
    except (urllib3.exceptions.HTTPError, ValueError, KeyError) as failed:
        raise EngineUnavailable(
            f"no {recipe.distribution} answers at {variable} ({failed!r}); start it or unset {variable}"
        ) from failed
    return Engine(f"{recipe.distribution}-{version}", url, recipe.distribution, version)


@cache
def docker_answers() -> bool:
    """Whether testcontainers finds a Docker daemon that answers here; asked once."""
    ping = "from testcontainers.core.docker_client import DockerClient; DockerClient(timeout=5).client.ping()"
    try:
        # In a process of its own: a client that fails to connect leaves an open socket behind.
        done = subprocess.run([sys.executable, "-c", ping], capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@contextmanager
def _container(recipe: Recipe) -> Iterator[Engine]:
    """The published image of this engine, one node, without TLS and users."""
    from testcontainers.core.container import DockerContainer

    container = DockerContainer(recipe.image).with_exposed_ports(HTTP_PORT)
    for key, value in _container_environment(recipe).items():
        container = container.with_env(key, value)
    with container:
        url = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(HTTP_PORT)}"
        deadline = time.monotonic() + START_LIMIT_S
        while not cluster_answers(url):
            if time.monotonic() > deadline:
                raise EngineUnavailable(
                    f"{recipe.image} was not ready after {START_LIMIT_S:g} s; "
                    f"read `docker logs {container.get_wrapped_container().short_id}`, or set "
                    f"{URL_VARIABLES[recipe.distribution]} to a running node"
                )
            time.sleep(0.5)
        yield Engine(recipe.name, url, recipe.distribution, recipe.version)


def _container_environment(recipe: Recipe) -> dict[str, str]:
    common = {
        "discovery.type": "single-node",
        "cluster.routing.allocation.disk.threshold_enabled": "false",
        **{key: str(value).lower() for key, value in FOR_BROWSERS.items()},
    }
    if recipe.distribution == "elasticsearch":
        return {**common, "xpack.security.enabled": "false", "ES_JAVA_OPTS": "-Xms1g -Xmx1g"}
    return {
        **common,
        "DISABLE_SECURITY_PLUGIN": "true",
        "DISABLE_INSTALL_DEMO_CONFIG": "true",
        "OPENSEARCH_JAVA_OPTS": "-Xms1g -Xmx1g",
    }


@contextmanager
def _assembled_node(recipe: Recipe) -> Iterator[Engine]:
    """A node of our own making; where it cannot be had, the error names all three ways."""
    with ExitStack() as stack:
        try:
            node = stack.enter_context(start_node(recipe.name))
        except EngineUnavailable as failed:
            raise EngineUnavailable(
                f"no {recipe.name} to test against: set {URL_VARIABLES[recipe.distribution]} to a running "
                "node, or start a Docker daemon, or let one be assembled from Maven Central, which failed: "
                f"{failed}"
            ) from failed
        yield Engine(node.name, node.url, node.distribution, node.version)
