"""A real `sinkrank serve` in front of a node, which can be killed and started again, and fronts before both."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
import urllib3

from reranker.base.errors import FetchFailed
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from tests.deploy.fronts import ROOT, Binary, find_binary, make_certificates
from tests.support.engines.sources import Engine
from tests.support.listening import server_ports
from tests.support.service import DOCUMENTS, fill
from tests.support.tiny import tiny_embeddings
from tests.support.waiting import wait_until


@dataclass
class Instance:
    """`sinkrank serve` at one address, before an engine that holds `index`."""

    home: Path
    engine: str
    index: str
    port: int = field(default_factory=lambda: server_ports(1)[0])
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "sinkrank", "serve", "--port", str(self.port), "--store", self.engine]
        command += ["--processes", "1"]  # a killed one is gone at once, and its port free
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SINKRANK_PROXY_BUDGET_MS": "60000"}
        with (self.home / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.home, env=environment, stdout=log, stderr=log)
        wait_until(self.is_ready, "the instance is ready")

    def is_ready(self) -> bool:
        return urllib3.request("GET", f"http://{self.address}/-/ready", timeout=5, retries=False).status == 200

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def instance(first_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    home = tmp_path_factory.mktemp("instance")
    embeddings: Embeddings = tiny_embeddings(home / ".sinkrank" / "embeddings")
    index = f"front-{uuid4().hex[:8]}"
    address = first_engine.url.replace("http", first_engine.distribution, 1)
    with closing(open_store(address)) as store:
        fill(store, embeddings, index, DOCUMENTS)
        instance = Instance(home, address, index)
        try:
            instance.start()
            yield instance
        finally:
            instance.kill()
            store.drop(index)


@pytest.fixture(
    scope="module",
    params=["nginx", *(pytest.param(one, marks=pytest.mark.conformance) for one in ("haproxy", "envoy"))],
)
def front_name(request: pytest.FixtureRequest) -> str:
    """Each front that can be had here."""
    name = str(request.param)
    program(name)
    return name


def program(name: str) -> Binary:
    """A front's program, or promtool; without it, and without a Debian to fetch it from, the test is left out."""
    try:
        return find_binary(name)
    except FetchFailed as failed:
        if name != "envoy" and shutil.which("apt-get") is None:
            pytest.skip(str(failed))
        raise


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See `make_certificates`."""
    folder = tmp_path_factory.mktemp("front-certificates")
    make_certificates(folder)
    return folder
