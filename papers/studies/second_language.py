"""Everyday queries in English, Finnish and German on an ordinary English index: the engine's order and the default one.

The queries were written before any search was run, and none was changed or removed afterwards. The pages that answer
were looked up by their titles and words, twice, and not among the hits of any order. English queries avoid the words of
the titles. A few pages are in other scripts, as in most indices. Pages of LibreOffice's help are training pages.

`write FOLDER` writes the pages (`articles.jsonl`) and, for each language, queries and qrels in BEIR's layout.
`measure` searches an index of the pages through the proxy, in front of a running engine, and prints the MRR.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from papers.base import module_command
from papers.base.markdown import print_table
from papers.corpora.mallard import parse_topic
from papers.judged.beir import CORPUS, QRELS, QUERIES
from papers.studies.titles import MIN_DOCUMENT_WORDS, sections_of
from reranker.base.whole_files import write_whole
from reranker.service.settings_sources import load_settings
from sinkrank.actions import in_process_proxy
from sinkrank.console import resources
from sinkrank.demo.pages import write_jsonl
from sinkrank.evaluation.comparison import Run, Way
from sinkrank.evaluation.judgments import JudgedQuery
from sinkrank.evaluation.proxy_way import FIRST_STAGE, ProxyIndex, ProxySearches
from sinkrank.evaluation.query_template import QueryTemplate

ARTICLES = "articles.jsonl"
FIELDS = ("title", "text")
MEASURE = "MRR"

Judged = Mapping[str, tuple[str, ...]]
"""Ids of the pages that answer a query, by query."""

ENGLISH: Judged = {
    "laptop overheating": ("gnome/power-hotcomputer",),
    "wifi drops all the time": ("gnome/net-wireless-disconnecting",),
    "bigger letters": ("gnome/a11y-font-size",),
    "burn a disc": ("gnome/files-disc-write",),
    "unplug usb stick": ("gnome/files-removedrive",),
    "choose another wallpaper": ("gnome/look-background",),
    "no audio": ("gnome/sound-nosound",),
    "sleeping pc won't wake": ("gnome/power-suspendfail",),
    "swap left and right click": ("gnome/mouse-lefthanded",),
    "strong passphrase": (
        "gnome/user-goodpassword",
        "libreoffice/shared/01/password_dlg",
        "libreoffice/shared/01/password_main",
    ),
    "get back deleted documents": ("gnome/files-recover", "gnome/backup-restore"),
    "faded ink": ("gnome/printing-streaks",),
    "display goes dark when idle": ("gnome/power-whydim", "gnome/display-blank"),
    "capture the desktop": ("gnome/screen-shot-record",),
    "share internet with phone": ("gnome/net-wireless-adhoc",),
    "wrong hour when travelling": ("gnome/clock-timezone",),
    "type accents and symbols": ("gnome/tips-specialchars", "libreoffice/shared/guide/insert_specialchar"),
    "find synonyms": ("libreoffice/swriter/guide/using_thesaurus", "libreoffice/shared/01/06020000"),
    "keep headings visible while scrolling": ("libreoffice/scalc/guide/line_fix", "libreoffice/scalc/01/07090000"),
    "all letters uppercase": (
        "libreoffice/swriter/guide/text_capital",
        "libreoffice/shared/01/05020200",
        "libreoffice/shared/submenu_text",
        "libreoffice/sbasic/shared/03120310",
        "manpages/toupper.3",
        "manpages/towupper.3",
    ),
    "turn paper sideways": (
        "libreoffice/swriter/guide/pageorientation",
        "libreoffice/scalc/guide/print_landscape",
        "libreoffice/shared/01/05040200",
        "libreoffice/simpress/01/01180001",
    ),
    "list of cited works": ("libreoffice/swriter/guide/indices_literature", "libreoffice/shared/01/02250000"),
    "large first letter": ("libreoffice/swriter/01/05030400",),
    "allow only certain input": ("libreoffice/scalc/guide/validity",),
    "fold paper into small book": (
        "libreoffice/swriter/guide/print_brochure",
        "gnome/printing-booklet-duplex",
        "gnome/printing-booklet-singlesided",
    ),
    "personal letters to many addresses": (
        "libreoffice/swriter/guide/form_letters_main",
        "libreoffice/swriter/01/01150000",
        "libreoffice/swriter/01/mailmerge00",
    ),
    "count days without weekends": (
        "libreoffice/scalc/01/func_networkdays",
        "libreoffice/scalc/01/func_networkdays.intl",
    ),
    "what changed between two texts": (
        "libreoffice/shared/01/02240000",
        "libreoffice/shared/01/01190000",
        "python/library/difflib.html#module-difflib",
    ),
    "erase every record": (
        "postgresql/sql-truncate",
        "postgresql/sql-delete",
        "postgresql/dml-delete",
        "postgresql/tutorial-delete",
    ),
    "why is my query slow": ("postgresql/using-explain", "postgresql/performance-tips", "postgresql/sql-explain"),
    "pause a program": (
        "manpages/sleep.3",
        "manpages/nanosleep.2",
        "manpages/usleep.3",
        "manpages/clock_nanosleep.2",
        "libreoffice/sbasic/shared/03130600",
        "manpages/pause.2",
    ),
    "how fast is my function": (
        "python/library/timeit.html#module-timeit",
        "python/library/profile.html#module-cProfile",
        "python/tutorial/stdlib.html#performance-measurement",
    ),
}

FINNISH: Judged = {
    "akku tyhjenee nopeasti": (
        "gnome/power-batterylife",
        "gnome/power-batterywindows",
        "gnome/power-batteryoptimal",
    ),
    "hiiren nopeus": ("gnome/mouse-sensitivity",),
    "salasanan vaihtaminen": (
        "gnome/user-changepassword",
        "libreoffice/shared/01/06130100",
        "libreoffice/sbasic/shared/01/06130100",
    ),
    "poistetun tiedoston palautus": ("gnome/files-recover", "gnome/backup-restore"),
    "näppäimistöasettelu": ("gnome/keyboard-layouts",),
    "kuvakaappaus": ("gnome/screen-shot-record",),
    "langaton verkko katkeilee": ("gnome/net-wireless-disconnecting",),
    "muistitikun tyhjennys": ("gnome/disk-format",),
    "levytila lopussa": ("gnome/disk-capacity", "postgresql/disk-full"),
    "aikavyöhyke": (
        "gnome/clock-timezone",
        "manpages/tzselect.8",
        "manpages/tzfile.5",
        "python/library/zoneinfo.html#module-zoneinfo",
        "manpages/zic.8",
        "manpages/zdump.8",
        "postgresql/datetime-posix-timezone-specs",
        "postgresql/view-pg-timezone-names",
        "postgresql/view-pg-timezone-abbrevs",
    ),
    "käyttäjätilin poistaminen": (
        "gnome/user-delete",
        "postgresql/app-dropuser",
        "postgresql/sql-dropuser",
        "postgresql/sql-droprole",
    ),
    "naytto himmenee": ("gnome/power-whydim", "gnome/display-blank"),
    "sisällysluettelo": (
        "libreoffice/swriter/guide/indices_toc",
        "libreoffice/swriter/01/04120000",
        "libreoffice/swriter/guide/indices_edit",
    ),
    "alaviitteet": (
        "libreoffice/swriter/guide/footnote_usage",
        "libreoffice/swriter/01/06080000",
        "libreoffice/swriter/01/06080100",
        "libreoffice/swriter/01/02150000",
    ),
    "sivunumero alatunnisteeseen": (
        "libreoffice/swriter/guide/footer_pagenumber",
        "libreoffice/swriter/guide/footer_nextpage",
    ),
    "solujen yhdistaminen": (
        "libreoffice/scalc/guide/table_cellmerge",
        "libreoffice/scalc/01/05060000",
        "libreoffice/shared/01/05100100",
    ),
    "lukujen pyöristys": (
        "libreoffice/scalc/guide/rounding_numbers",
        "libreoffice/scalc/01/func_rounddown",
        "libreoffice/scalc/01/func_roundsig",
        "manpages/round.3",
        "manpages/rint.3",
        "manpages/lround.3",
        "manpages/lrint.3",
    ),
    "tekstin piilottaminen": ("libreoffice/swriter/guide/hidden_text",),
    "asiakirja sahkopostilla": (
        "libreoffice/shared/guide/email",
        "libreoffice/shared/01/01160200",
        "libreoffice/shared/01/ref_pdf_send_as",
        "gnome/files-share",
    ),
    "tietokannan varmuuskopiointi": (
        "postgresql/backup",
        "postgresql/backup-dump",
        "postgresql/backup-file",
        "postgresql/continuous-archiving",
        "postgresql/app-pgdump",
        "postgresql/app-pg-dumpall",
        "postgresql/app-pgbasebackup",
    ),
}

GERMAN: Judged = {
    "Papierkorb leeren": ("gnome/privacy-purge", "gnome/files-delete"),
    "Lüfter läuft ständig": ("gnome/power-constantfan",),
    "zweiter Monitor": ("gnome/display-dual-monitors",),
    "kein Ton": ("gnome/sound-nosound",),
    "Standarddrucker": ("gnome/printing-setup-default-printer",),
    "Druckauftrag abbrechen": ("gnome/printing-cancel-job",),
    "Fingerabdruck": ("gnome/session-fingerprint",),
    "Mauszeiger bewegt sich nicht": ("gnome/mouse-problem-notmoving",),
    "Laptop zuklappen": ("gnome/power-closelid",),
    "Flugmodus": ("gnome/net-wireless-airplane",),
    "Dateirechte aendern": ("gnome/nautilus-file-properties-permissions", "manpages/chmod.2"),
    "Zeilenumbruch in Zelle": ("libreoffice/scalc/guide/text_wrap",),
    "Rechtschreibpruefung": (
        "libreoffice/swriter/guide/auto_spellcheck",
        "libreoffice/shared/02/18030000",
        "libreoffice/shared/01/06010101",
    ),
    "Wörter zählen": (
        "libreoffice/swriter/guide/words_count",
        "libreoffice/swriter/01/06040000",
        "libreoffice/shared/01/01100400",
    ),
    "Wasserzeichen": ("libreoffice/swriter/01/watermark", "libreoffice/swriter/guide/pagebackground"),
    "Folienübergänge": ("libreoffice/simpress/guide/animated_slidechange", "libreoffice/simpress/01/06040000"),
    "Visitenkarten drucken": (
        "libreoffice/shared/guide/labels",
        "libreoffice/shared/01/01010300",
        "libreoffice/shared/01/01010302",
    ),
    "Silbentrennung ausschalten": (
        "libreoffice/swriter/guide/hyphen_prevent",
        "libreoffice/swriter/guide/using_hyphen",
        "libreoffice/swriter/01/06030000",
        "libreoffice/swriter/01/05030200",
        "libreoffice/shared/01/06010101",
    ),
    "Serienbrief": (
        "libreoffice/swriter/guide/form_letters_main",
        "libreoffice/swriter/01/01150000",
        "libreoffice/swriter/01/mailmerge00",
    ),
    "Umgebungsvariable": (
        "manpages/environ.7",
        "manpages/getenv.3",
        "manpages/putenv.3",
        "manpages/setenv.3",
        "libreoffice/sbasic/shared/03130800",
        "postgresql/libpq-envars",
        "python/using/cmdline.html#environment-variables",
        "python/using/windows.html#excursus-setting-environment-variables",
        "postgresql/plpython-envar",
    ),
}

QUERIES_IN: Mapping[str, Judged] = {"en": ENGLISH, "fi": FINNISH, "de": GERMAN}
"""The queries by language."""

SOURCES: Mapping[str, str] = {
    "libreoffice": "",
    "gnome": "",
    "postgresql": "",
    "manpages": "",
    "python": r"(?:faq|howto|tutorial|using)/|library/.*#module-",
}
"""The documentations of the English pages, and how the ids of their pages begin."""

OTHER_SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "zh_CN": ("backup-frequency", "backup-restore", "backup-what", "files-removedrive", "power-constantfan"),
    "ja": ("backup-frequency", "power-batterywindows"),
    "el": ("contacts-search", "files-sort"),
}
"""Pages of GNOME's help that are translated as a whole, by the name of the language's folder."""


def articles(home: Path) -> Iterator[dict[str, str]]:
    """Fetches (once) and reads the pages of the index.

    Raises:
        FetchFailed: a package cannot be fetched.
    """
    for name, beginning in SOURCES.items():
        for section in sections_of(name, home):
            if re.match(beginning, section.section_id) and len(section.text.split()) >= MIN_DOCUMENT_WORDS:
                page_id = section.section_id.removeprefix("text/")
                yield {"id": f"{name}/{page_id}", "title": section.title, "text": section.text}
    for folder, names in OTHER_SCRIPTS.items():
        for name in names:
            path = home / "corpora" / "gnome" / "help" / folder / "gnome-help" / f"{name}.page"
            topic = parse_topic(path.read_bytes())
            if topic is not None:
                text = " ".join(paragraph.text for paragraph in topic.paragraphs[1:])
                yield {"id": f"gnome/{folder}/{name}", "title": topic.title, "text": text}


def judged_queries(language: str) -> list[JudgedQuery]:
    """The queries of a language. The proxy has to detect it."""
    return [
        JudgedQuery(f"{language}{number}", text, None, (), None, dict.fromkeys(page_ids, 1))
        for number, (text, page_ids) in enumerate(QUERIES_IN[language].items(), start=1)
    ]


def write(folder: Path, pages: Iterable[Mapping[str, str]]) -> None:
    """Writes the pages (`articles.jsonl`) and, in a folder for each language, its queries and judgments."""
    write_jsonl(folder / ARTICLES, pages)
    for language in QUERIES_IN:
        queries = judged_queries(language)
        judgments = [f"{query.query_id}\t{page_id}\t1\n" for query in queries for page_id in query.relevance]
        write_jsonl(folder / language / QUERIES, ({"_id": query.query_id, "text": query.text} for query in queries))
        write_whole(folder / language / QRELS, "".join(["query-id\tcorpus-id\tscore\n", *judgments]).encode())
        (folder / language / CORPUS).unlink(missing_ok=True)
        (folder / language / CORPUS).symlink_to(Path("..") / ARTICLES)


def measure(store: str, index: str, embeddings: Path, with_each: bool) -> None:
    """Prints a row for each language: MRR of the engine's order and of the default order.

    Args:
        with_each: whether to print the reciprocal rank of each query, too.

    Raises:
        NotFound, StoreUnavailable: the index or the embeddings cannot be opened.
    """
    settings = load_settings({"store": store, "index": index, "embeddings": embeddings}).settings
    with resources.opened_store(settings) as opened:
        proxy = in_process_proxy.opened_index(settings, opened, resources.open_embeddings(settings), None).proxy
        template, headers = QueryTemplate.over(FIELDS), in_process_proxy.caller_headers(settings)
        searches = ProxySearches(ProxyIndex(proxy, index, template, headers))
        ways = [Way(name, name, FIRST_STAGE, settings.depth) for name in ("none", "auto")]
        runs = {language: [searches.run(way, judged_queries(language)) for way in ways] for language in QUERIES_IN}
    print_table(_COLUMNS, (row(language, *found) for language, found in runs.items()))
    if with_each:
        sys.stdout.write("\n")
        print_table(
            ("query", *_COLUMNS[2:4]), (row for language, found in runs.items() for row in _each(language, *found))
        )


_COLUMNS = ("language", "queries", "engine", "default order", "better", "worse", "not found")


def row(language: str, engine: Run, default: Run) -> list[str]:
    """The number of queries, the MRR in both orders, and how many queries the default order makes better, makes worse,
    and leaves without a page that answers."""
    pairs = [(before, default.values[MEASURE][query_id]) for query_id, before in engine.values[MEASURE].items()]
    counts = (
        sum(after > before for before, after in pairs),
        sum(after < before for before, after in pairs),
        sum(after == 0 for _, after in pairs),
    )
    means = (f"{run.mean(MEASURE):.3f}" for run in (engine, default))
    return [language, str(len(pairs)), *means, *map(str, counts)]


def _each(language: str, engine: Run, default: Run) -> Iterator[list[str]]:
    for query in judged_queries(language):
        yield [query.text, *(f"{run.values[MEASURE][query.query_id]:.3f}" for run in (engine, default))]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.studies.second_language", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="write pages, queries and judgments")
    writing.add_argument("folder", type=Path, metavar="FOLDER")
    writing.add_argument("--home", type=Path, default=Path(".sinkrank"), help="folder of the fetched packages")
    measuring = commands.add_parser("measure", help="search an index of the pages, and print the MRR")
    measuring.add_argument("--store", required=True, metavar="ADDRESS", help="opensearch://HOST:PORT")
    measuring.add_argument("--index", default="articles", metavar="NAME")
    measuring.add_argument("--embeddings", type=Path, required=True, metavar="DIR")
    measuring.add_argument("--each", action="store_true", help="print each query")
    options = parser.parse_args(arguments)
    if options.command == "write":
        write(options.folder, articles(options.home))
    else:
        measure(options.store, options.index, options.embeddings, options.each)


if __name__ == "__main__":
    module_command.run(main)
