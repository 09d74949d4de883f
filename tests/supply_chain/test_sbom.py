"""The SBOM fits CycloneDX's schema and lists what the lock file pins."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import pytest

from supply_chain.lock import RUNTIME_LOCK, read_lock
from supply_chain.sbom import make_sbom, schema_error


@pytest.fixture(scope="module")
def text() -> str:
    return make_sbom(read_lock(RUNTIME_LOCK))


@pytest.fixture(scope="module")
def sbom(text: str) -> dict[str, Any]:
    return json.loads(text)  # type: ignore[no-any-return]


def test_it_fits_the_schema(text: str) -> None:
    assert schema_error(text) is None
    assert schema_error(text.replace('"type": "library"', '"type": "book"')) is not None


def test_each_pinned_version_is_a_part_with_licence_and_hashes(sbom: dict[str, Any]) -> None:
    parts = {part["purl"]: part for part in sbom["components"]}
    pins = read_lock(RUNTIME_LOCK)
    assert set(parts) == {f"pkg:pypi/{pin.name}@{pin.version}" for pin in pins}
    for pin in pins:
        part = parts[f"pkg:pypi/{pin.name}@{pin.version}"]
        assert part["licenses"]
        hashes = part["externalReferences"][0]["hashes"]
        assert {one["content"] for one in hashes} == set(pin.sha256)


def test_the_parts_hang_together(sbom: dict[str, Any]) -> None:
    needs = {one["ref"]: one.get("dependsOn", []) for one in sbom["dependencies"]}
    assert any(ref.startswith("flask==") for ref in needs["sinkrank"])
    assert f"werkzeug=={version('werkzeug')}" in needs[f"flask=={version('flask')}"]


def test_the_same_lock_has_the_same_number(sbom: dict[str, Any]) -> None:
    assert json.loads(make_sbom(read_lock(RUNTIME_LOCK)))["serialNumber"] == sbom["serialNumber"]
