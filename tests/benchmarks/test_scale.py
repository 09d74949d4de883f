"""The collection that growth is measured on, and what is counted of processes; no package is fetched."""

from __future__ import annotations

import gzip
import json
import os
import subprocess

import pytest

from benchmarks.scale.__main__ import keep
from benchmarks.scale.passages import Page, Passages, cut
from benchmarks.scale.readers import language_of, read_descriptions, read_package
from benchmarks.scale.report import report, slope
from benchmarks.scale.resources import process_tree, processes
from benchmarks.scale.searching import spread, timed

LIST = """Package: cat
Description-md5: 1
Description-de: gibt Dateien aus
 Das Programm gibt Dateien
 hintereinander aus.
 .
 <trans>
 .
 Es liest auch die Standardeingabe.

Package: dog
Description-md5: 2
Description-de: <trans>
 Nur der lange Text ist übersetzt.
"""


def words(n, word="word"):
    return " ".join(f"{word}{i}" for i in range(n))


def page(*paragraphs, language="en"):
    return Page("source", language, "name", "Title", paragraphs)


def test_a_document_has_whole_sentences_and_at_most_60_words():
    text = f"{words(30, 'a')}. {words(10, 'b')}. {words(70, 'c')}. {words(5, 'd')}."
    found = list(cut([text]))
    assert [len(one.split()) for one in found] == [40, 60]
    assert found[0].endswith("b9.")


def test_what_is_left_and_too_short_for_a_document_is_dropped():
    assert list(cut([words(19)])) == []
    assert list(cut([words(12, "a"), words(12, "b")])) == [f"{words(12, 'a')} {words(12, 'b')}"]


def test_a_paragraph_that_came_before_is_left_out_in_any_language():
    passages = Passages()
    assert len(list(passages.of(page(words(40))))) == 1
    (found,) = passages.of(page(words(40), words(40, "wort"), language="de"))
    assert (found.language, found.text) == ("de", words(40, "wort"))


def test_the_id_of_a_document_comes_from_its_text():
    first, again = ([one.doc_id for one in Passages().of(page(words(40)))] for _ in range(2))
    assert first == again


def test_descriptions_are_read_without_what_is_not_translated():
    (found,) = read_descriptions([("de", LIST)])
    assert (found.language, found.name, found.title) == ("de", "cat", "cat: gibt Dateien aus")
    assert found.paragraphs == ("Das Programm gibt Dateien hintereinander aus.", "Es liest auch die Standardeingabe.")


@pytest.mark.parametrize(
    ("package", "file_name", "expected"),
    [
        ("libreoffice-help-pt-br", "./usr/share/libreoffice/help/pt-BR/text/a.html", "pt"),
        ("manpages-pt-br-dev", "./usr/share/man/pt_BR/man2/open.2.gz", "pt"),
        ("manpages-fr-dev", "./usr/share/man/fr/man2/open.2.gz", "fr"),
        ("postgresql-doc-15", "./usr/share/doc/postgresql-doc-15/html/it/a.html", "en"),
        ("gnome-user-docs", "./usr/share/help/sv/gnome-help/a.page", "sv"),
        ("gnome-user-docs", "./usr/share/help/C/gnome-help/a.page", "en"),
        ("debian-handbook", "./usr/share/doc/debian-handbook/html/ar-MA/a.html", None),
    ],
)
def test_the_language_is_that_of_the_package_or_of_a_folder(package, file_name, expected):
    assert language_of(package, file_name) == expected


def test_the_pages_of_a_package_are_read_without_unpacking_it(tmp_path):
    """A package that dpkg itself has made."""
    files = {
        "usr/share/doc/cats/index.html": b"<title>Cats</title><p>A cat sleeps on the mat.<pre>code code</pre><p>Short.",
        "usr/share/man/man1/cat.1.gz": gzip.compress(b".TH CAT 1\n.SH NAME\ncat prints all files one by one\n"),
        "usr/bin/cat": b"no page",
    }
    root = tmp_path / "root"
    for name, content in {**files, "DEBIAN/control": CONTROL}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    subprocess.run(["dpkg-deb", "-b", str(root), str(tmp_path / "cats_1_all.deb")], check=True, capture_output=True)
    pages = read_package(tmp_path / "cats_1_all.deb")
    assert {(one.title, one.paragraphs) for one in pages} == {
        ("Cats", ("A cat sleeps on the mat.",)),
        ("cat(1)", ("cat prints all files one by one",)),
    }


CONTROL = b"Package: cats\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: cats\n"


def test_times_are_told_by_median_and_95th_percentile():
    assert spread([float(n) for n in range(1, 101)]) == {"median_ms": 50.5, "p95_ms": 95.95, "n": 100}


def test_a_side_is_timed_without_its_first_round():
    seen = []
    found = timed({"one": seen.append, "two": seen.append}, [{"id": "q"}, {"id": "r"}], 2, {})
    assert len(seen) == 2 * 3 * 2
    assert found["one"]["n"] == 4


def test_a_process_is_counted_with_those_that_it_started():
    with subprocess.Popen(["sleep", "60"]) as child:
        assert child.pid in process_tree(os.getpid())
        assert processes([os.getpid(), child.pid])["rss_mb"] > processes([child.pid])["rss_mb"]
        child.terminate()


def test_a_process_that_has_ended_uses_nothing():
    assert processes([2**22 + 1]) == {"cpu_s": 0.0, "rss_mb": 0, "anonymous_mb": 0}


def test_results_are_added_to_those_of_earlier_steps(tmp_path):
    for step in ("ingest", "search"):
        keep(tmp_path / "results.json", step, {"index": "pages"})
    kept = json.loads((tmp_path / "results.json").read_text())
    assert [one["step"] for one in kept] == ["ingest", "search"]


def test_the_slope_of_growth_is_the_power_of_the_size():
    assert slope([10, 100, 1000], [3, 30, 300]) == pytest.approx(1)
    assert slope([10, 1000], [7, 7]) == pytest.approx(0)
    assert slope([100, 10_000], [5, 50]) == pytest.approx(0.5)


def test_figures_of_an_ingest_are_those_of_a_document(tmp_path):
    """1,000 documents in 10 seconds, 2 of our CPU seconds and 4 of the engine's."""
    after = {"primaries": {"bytes": 5_000_000, "segments": 3}}
    most = {"anonymous_mb": 150, "heap_mb": 300}
    figures = {"wall_s": 10.0, "our_cpu_s": 2.0, "engine_cpu_with_merges_s": 4.0, "after": after, "most": most}
    kept = {"step": "ingest", "documents": 1_000, "files": {"graph": 64_000}, **figures}
    (tmp_path / "results.json").write_text(json.dumps([kept]))
    lines = report(tmp_path / "results.json").splitlines()
    assert "| documents a second | 100 |  |" in lines
    assert "| our CPU, ms | 2.0 |  |" in lines
    assert "| bytes on disk | 5,000 |  |" in lines
    assert "| graph | 64.0 |  |" in lines
