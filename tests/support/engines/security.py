"""Starts an OpenSearch node with the security plugin: mutual TLS, users, document and field level security.

The node answers only clients with a certificate of its authority. The certificate is no user: who asks is said by the
`Authorization` header. Every user's password is the name and `-secret`.

| user | rights |
|---|---|
| `service` | everything: what `sinkrank ingest` uses |
| `searcher` | what docs/operations.md says that a service needs to search `notes` and `press` |
| `anna` | reads documents of the teams `red` and `all`, every field |
| `ben` | reads documents of the teams `blue` and `all`, without their texts and what is made of them |
| `carla` | reads no index |

Anna and Ben read the indices `notes` and `press` alone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from tests.support.certificates import make_certificates
from tests.support.engines.assemble import assembled_home
from tests.support.engines.nodes import Node, Setting, start_node
from tests.support.engines.recipes import OPENSEARCH_2_SECURITY

# bcrypt with the fewest rounds, of NAME-secret.
_HASHES = {
    "service": "$2b$05$mfrusyzd46BOnCA.5.LS3uCWc2QLBPt6A6.bCmrURqOY2d1bUGpBe",
    "searcher": "$2b$05$s3OnFI9u5WduX.q6UR8BKenQU7ud/DiM7uzcIAi6IiIz6A0END6vq",
    "anna": "$2b$05$qrZcygjGoucxrRhPUzMrqeAktdcDeySRYW2qEpG7Hgy1wVWg5x8N2",
    "ben": "$2b$05$iwqxoHlmXzrGiZBkUSTdieqt7bNp4FrOxEwautKwtU0mdwFwPWoM.",
    "carla": "$2b$05$AXnX9q6WqawEBVZ4MJTOfeIdrH00Flz23UWBivvCwbQMuo75ENmOC",
}
# Files of the plugin's own that need no change.
_UNCHANGED = ("action_groups", "allowlist", "audit", "nodes_dn", "tenants", "whitelist")
_CONFIG_FOLDER = "opensearch-security"


@dataclass(frozen=True)
class SecuredNode:
    """
    Attributes:
        url: `https://127.0.0.1:PORT`.
        ca, certificate, key: PEM files of a client: whom to trust, what to present.
    """

    node: Node
    ca: Path
    certificate: Path
    key: Path

    @property
    def url(self) -> str:
        return self.node.url

    def request(self, method: str, path: str, user: str | None = "service", body: Any = None) -> tuple[int, Any]:
        """Status and JSON of the node's own answer."""
        with _pool(self.ca, self.certificate, self.key) as pool:
            headers = authorization(user) if user else {}
            answer = pool.request(method, f"{self.url}{path}", headers=headers, json=body)
            return answer.status, json.loads(answer.data) if answer.data[:1] in (b"{", b"[") else answer.data.decode()


def authorization(user: str) -> dict[str, str]:
    """The header by which a user is known."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{user}-secret".encode()).decode()}


@contextmanager
def start_secured_node(folder: Path) -> Iterator[SecuredNode]:
    """The node; its certificates are made in the folder.

    Raises:
        EngineUnavailable: as `start_node`.
    """
    ca, certificate, key = make_certificates(folder, "node", "client"), folder / "client.pem", folder / "client.key"
    files = {f"{_CONFIG_FOLDER}/{name}": content for name, content in _security_files().items()}
    files |= {name: (folder / name).read_bytes() for name in ("ca.pem", "node.pem", "node.key")}

    def ready(url: str) -> bool:
        """Whether the users are known, which they are some seconds after the node answers."""
        with _pool(ca, certificate, key) as pool:
            try:
                answer = pool.request("GET", f"{url}/_cluster/health", headers=authorization("service"))
            except urllib3.exceptions.HTTPError:
                return False
            return answer.status == 200

    with start_node(
        OPENSEARCH_2_SECURITY.name, settings=_settings(), config_files=files, scheme="https", ready=ready
    ) as node:
        yield SecuredNode(node, ca, certificate, key)


def _pool(ca: Path, certificate: Path, key: Path) -> urllib3.PoolManager:
    return urllib3.PoolManager(
        ca_certs=str(ca), cert_file=str(certificate), key_file=str(key), retries=False, timeout=60
    )


def _settings() -> dict[str, Setting]:
    tls: dict[str, Setting] = {}
    for layer in ("transport", "http"):
        for name, file in (("pemcert", "node.pem"), ("pemkey", "node.key"), ("pemtrustedcas", "ca.pem")):
            tls[f"plugins.security.ssl.{layer}.{name}_filepath"] = file
    return tls | {
        "plugins.security.ssl.http.enabled": True,
        "plugins.security.ssl.http.clientauth_mode": "REQUIRE",
        "plugins.security.ssl.transport.enforce_hostname_verification": False,
        "plugins.security.nodes_dn": ["CN=node"],
        "plugins.security.allow_default_init_securityindex": True,
    }


def _security_files() -> dict[str, bytes]:
    shipped = assembled_home(OPENSEARCH_2_SECURITY) / "plugins" / "opensearch-security" / "config"
    files = {f"{name}.yml": (shipped / f"{name}.yml").read_bytes() for name in _UNCHANGED}
    # JSON is YAML too.
    made = {
        "config": _meta("config", {"config": {"dynamic": {"authc": {"basic": _BASIC}}}}),
        "internal_users": _meta("internalusers", {name: {"hash": value} for name, value in _HASHES.items()}),
        "roles": _meta(
            "roles",
            {
                "searching": _SEARCHER,
                "team_red": _reader("red"),
                "team_blue": _reader("blue", _HIDDEN_FROM_BLUE),
            },
        ),
        "roles_mapping": _meta(
            "rolesmapping",
            {
                "all_access": {"users": ["service"]},
                "searching": {"users": ["searcher"]},
                "team_red": {"users": ["anna"]},
                "team_blue": {"users": ["ben"]},
            },
        ),
    }
    return files | {f"{name}.yml": json.dumps(content).encode() for name, content in made.items()}


_BASIC = {
    "http_enabled": True,
    "order": 0,
    "http_authenticator": {"type": "basic", "challenge": True},
    "authentication_backend": {"type": "intern"},
}
_SEARCHER = {
    "cluster_permissions": ["cluster_composite_ops_ro", "cluster:monitor/main"],
    "index_permissions": [
        {"index_patterns": ["notes", "press", "sinkrank-idf"], "allowed_actions": ["read"]},
        {"index_patterns": ["*"], "allowed_actions": ["indices:admin/mappings/get", "indices:admin/aliases/get"]},
    ],
}
# `~` hides a field; the texts lie in sub-fields by language.
_HIDDEN_FROM_BLUE = ["~text", "~text.*", "~title", "~title.*", "~url", "~bag", "~nbow", "~title_key", "~text_key"]


def _reader(team: str, hidden: list[str] | None = None) -> dict[str, Any]:
    """Reads a team's documents and those for all, in the indices `notes` and `press`."""
    permission: dict[str, Any] = {
        "index_patterns": ["notes", "press"],
        "dls": json.dumps({"terms": {"metadata.team": [team, "all"]}}),
        "allowed_actions": ["read"],
    }
    if hidden:
        permission["fls"] = hidden
    return {"cluster_permissions": ["cluster_composite_ops_ro"], "index_permissions": [permission]}


def _meta(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"_meta": {"type": kind, "config_version": 2}, **content}
