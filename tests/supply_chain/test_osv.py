"""Advisories by hand: fields, ranges and special values as the OSV schema defines them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from supply_chain import audit, osv
from supply_chain.osv import BadDatabase, read_database


def advisory(*affected: dict[str, Any], name: str = "PYSEC-2026-1", **more: Any) -> dict[str, Any]:
    return {"id": name, "modified": "2026-03-01T00:00:00Z", "affected": list(affected), **more}


def flask(*events: dict[str, str], kind: str = "ECOSYSTEM", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"package": {"ecosystem": "PyPI", "name": "flask"}, **more}
    return {**found, "ranges": [{"type": kind, "events": list(events)}]} if events else found


def write(folder: Path, *advisories: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for place, one in enumerate(advisories):
        (folder / f"{place}.json").write_text(json.dumps(one))
    return folder


def affected_versions(folder: Path, one: dict[str, Any], versions: list[str]) -> list[str]:
    database = read_database(write(folder, one))
    return [version for version in versions if database.findings("flask", version)]


@pytest.mark.parametrize(
    ("events", "affected"),
    [
        ([{"introduced": "0"}], ["0.1", "1.0rc1", "1.0", "1.0.2", "2.0"]),
        ([{"introduced": "0"}, {"fixed": "1.0.2"}], ["0.1", "1.0rc1", "1.0"]),
        ([{"introduced": "1.0"}, {"last_affected": "1.0.2"}], ["1.0", "1.0.2"]),
        ([{"introduced": "1.0"}, {"last_affected": "1.0"}], ["1.0"]),
        ([{"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "2.0"}], ["0.1", "1.0rc1", "2.0"]),
        ([{"introduced": "2.0"}, {"fixed": "1.0"}, {"introduced": "0"}], ["0.1", "1.0rc1", "2.0"]),
        ([{"introduced": "0"}, {"limit": "1.0"}], ["0.1", "1.0rc1"]),
        ([{"introduced": "0"}, {"limit": "*"}], ["0.1", "1.0rc1", "1.0", "1.0.2", "2.0"]),
        ([{"introduced": "0"}, {"fixed": "no version"}], ["0.1", "1.0rc1", "1.0", "1.0.2", "2.0"]),
    ],
)
def test_a_range_affects_the_versions_that_the_schema_says(
    tmp_path: Path, events: list[dict[str, str]], affected: list[str]
) -> None:
    versions = ["0.1", "1.0rc1", "1.0", "1.0.2", "2.0"]  # a release candidate of 1.0 lies before it (PEP 440)
    assert affected_versions(tmp_path / "osv", advisory(flask(*events)), versions) == affected


def test_listed_versions_are_affected_beside_the_ranges_and_commits_say_nothing(tmp_path: Path) -> None:
    commits = flask({"introduced": "0"}, kind="GIT", versions=["1.0.0", "3.0"])
    assert affected_versions(tmp_path / "osv", advisory(commits), ["1.0", "2.0", "3.0"]) == ["1.0", "3.0"]


def test_names_are_compared_as_pypi_does_and_other_ecosystems_are_not_ours(tmp_path: Path) -> None:
    ours = {"package": {"ecosystem": "PyPI", "name": "Ruamel_YAML"}, "versions": ["1.0"]}
    other = {"package": {"ecosystem": "npm", "name": "flask"}, "versions": ["1.0"]}
    database = read_database(write(tmp_path / "osv", advisory(ours, other)))
    assert [one.advisory for one in database.findings("ruamel.yaml", "1.0")] == ["PYSEC-2026-1"]
    assert database.findings("flask", "1.0") == []


def test_a_withdrawn_advisory_is_left_out(tmp_path: Path) -> None:
    kept = advisory(flask(versions=["2.0"]), name="GHSA-kept")
    gone = advisory(flask(versions=["2.0"]), name="GHSA-gone", withdrawn="2026-02-01T00:00:00Z")
    database = read_database(write(tmp_path / "osv", kept, gone))
    assert [one.advisory for one in database.findings("flask", "2.0")] == ["GHSA-kept"]
    assert database.n_advisories == 1


def test_a_zip_archive_is_read_as_a_folder_is(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("PYSEC-2026-1.json", json.dumps(advisory(flask(versions=["2.0"]))))
    assert len(read_database(tmp_path / "all.zip").findings("flask", "2.0")) == 1


def test_what_is_no_database_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.zip").write_text("no zip")
    other = advisory({"package": {"ecosystem": "npm", "name": "x"}})
    for path in (tmp_path / "missing", tmp_path / "text.zip", write(tmp_path / "npm", other)):
        with pytest.raises(BadDatabase, match=path.name):
            read_database(path)
    nameless = '{"id": "A", "affected": [{"package": {"ecosystem": "PyPI"}}]}'
    for broken in ('{"id": "A"', "[]", '{"affected": []}', nameless):
        (tmp_path / "npm" / "broken.json").write_text(broken)
        with pytest.raises(BadDatabase, match=r"broken\.json"):
            read_database(tmp_path / "npm")
    monkeypatch.setattr(osv, "MAX_ADVISORY_BYTES", 10)
    with pytest.raises(BadDatabase, match="may have 10"):
        read_database(tmp_path / "npm")


def test_the_audit_names_package_file_advisory_and_cure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = advisory(
        flask({"introduced": "0"}, {"fixed": "3.1.4"}), aliases=["CVE-2026-1"], summary="Sessions can be forged"
    )
    database = write(tmp_path / "osv", one)
    lock = tmp_path / "requirements.lock"
    lock.write_text("flask==3.1.3\nclick==8.0\n")
    assert audit.main([str(database), str(lock)]) == 1
    shown = capsys.readouterr().out
    assert f"flask 3.1.3 ({lock}): PYSEC-2026-1, CVE-2026-1; fixed in 3.1.4\n    Sessions can be forged" in shown
    assert "1 findings in 2 pinned versions; 1 advisories for PyPI, the newest of 2026-03-01" in shown
    lock.write_text("flask==3.1.4\n")
    assert audit.main([str(database), str(lock)]) == 0
    assert audit.main([str(tmp_path / "missing"), str(lock)]) == 2


def test_the_audit_reads_all_locks_of_the_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main([str(write(tmp_path / "osv", advisory(flask({"introduced": "0"}))))]) == 1
    assert "requirements.lock" in capsys.readouterr().out
