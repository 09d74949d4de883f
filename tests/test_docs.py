"""The documents say what there is: settings, routes, commands, methods, and links that lead somewhere; lines of prose
are at most 120 columns wide."""

from pathlib import Path

import pytest
import regex
import typer.main

import sinkrank
from docs import settings_table
from ingest.embeddings.preparing.parts import NAMES as PARTS
from reranker.api.app import create_app
from reranker.service.requests import ExplainBody, SearchBody
from reranker.service.settings import Settings
from reranker.transport import METHODS
from sinkrank.commands.app import app as command_line
from tests.support.tiny import tiny_embeddings

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "papers").rglob("*.md")])


def text(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_page_of_the_settings_is_made_from_their_declarations():
    assert text("settings.md") == settings_table.page(text("settings.md")), "run python -m docs.settings_table"
    assert "| `port` | `8080` | 0 to 65,535 | port to listen on; 0 picks a free one |" in text("settings.md")


def test_the_methods_that_a_setting_names_are_those_there_are():
    names = Settings.model_fields["method"].description.partition(": ")[2]
    assert set(regex.findall(r"\w+", names)) - {"or"} == set(METHODS)


def commands(group, prefix="sinkrank"):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


COMMANDS = dict(commands(typer.main.get_command(command_line)))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_documented_with_its_options(name):
    section = regex.search(rf"^## `{name}`.*?(?=^## |\Z)", text("commands.md"), regex.M | regex.S)
    assert section, f"docs/commands.md has no section for {name}"
    for parameter in COMMANDS[name].params:
        for option in [*parameter.opts, *parameter.secondary_opts]:
            if option.startswith("--") and option not in ("--help", *COMMON_OPTIONS):
                assert f"`{option}" in section.group(), f"{name} {option} is not in docs/commands.md"


COMMON_OPTIONS = ("--home", "--embeddings", "--store", "--index", "--config", "--json")


@pytest.mark.parametrize("option", COMMON_OPTIONS)
def test_a_common_option_is_documented_once_for_all(option):
    assert f"`{option}" in text("commands.md").split("## ")[1]


@pytest.mark.parametrize("store", ["folder", "opensearch://127.0.0.1:9"])
def test_a_route_is_documented(tmp_path, store):
    settings = Settings(store=store)
    application = create_app(settings, None, tiny_embeddings(tmp_path / "embeddings"))
    documented = text("http.md")
    for rule in application.url_map.iter_rules():
        path = rule.rule.replace("<path:name>", "{file}")
        if path != "/":
            assert f"{path}`" in documented, f"{path} is not in docs/http.md"


def table(page, header):
    """The rows below the header of a table."""
    lines = page[page.index(header) :].splitlines()
    return [row for row in lines[2 : next(n for n, line in enumerate(lines) if not line)] if row]


def test_the_parts_of_prepare_are_those_that_can_be_left_out():
    documented = [regex.match(r"\| `(\w+)`", row)[1] for row in table(text("commands.md"), "| part |")]
    assert tuple(documented) == PARTS


def test_the_keys_of_a_search_that_explain_does_not_take_are_named():
    search, explain = (
        {field.alias or name for name, field in body.model_fields.items()} for body in (SearchBody, ExplainBody)
    )
    named = regex.search(r"the keys of the search above, except (.+?)\. Use", text("http.md"))[1]
    assert set(regex.findall(r"`(\w+)`", named)) == search - explain


FIGURES = "| collection | measure | first stage | Sinkrank | |"


@pytest.mark.parametrize("row", table((ROOT / "README.md").read_text(encoding="utf-8"), FIGURES))
def test_a_figure_of_the_readme_is_that_of_the_evaluation(row):
    assert row in table(text("evaluation.md"), FIGURES)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_documented(method):
    assert f"| `{method}` |" in text("methods.md")


def test_the_steps_of_a_search_are_functions_that_there_are():
    table = text("architecture.md").partition("\n| step | functions |\n")[2].partition("\n\n")[0]
    named = {name.rpartition(".")[2] for name in regex.findall("`([^`]+)`", table)}
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "reranker").rglob("*.py"))
    assert "search" in named
    assert named - {*regex.findall(r"^ *def (\w+)\(", sources, regex.M)} == set()


def anchors(page):
    """What a link can name of a page: its headings in lower case, without marks, blanks as hyphens."""
    headings = regex.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), regex.M)
    return {regex.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_pages_and_headings_that_there_are(page):
    for target, anchor in regex.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://")):
            linked = page.parent / target if target else page
            assert linked.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(linked), f"{page.name} links to {target}#{anchor}"


def test_the_speed_of_the_proxy_is_the_one_that_is_measured():
    """The README repeats figures of docs/benchmarks.md; no other page has them."""
    measured = text("benchmarks.md").partition("\n## The proxy\n")[2].partition("\n## ")[0]
    said = (ROOT / "README.md").read_text(encoding="utf-8").replace("\n ", "")
    times = regex.findall(r"([\d.]+)(?: ms)? in place of ([\d.]+)", said)
    (share,) = regex.findall(r"the proxy serves (\.\d+) of the engine's searches", said)
    assert len(times) == 2
    for proxy, engine in times:
        assert f"| {engine} | {proxy} |" in measured
    assert f"the proxy serves {share} " in measured.replace("\n", " ")


def test_the_changelog_begins_with_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert regex.search(r"^## (.*)$", changelog, regex.M)[1] == sinkrank.__version__


def prose(page):
    """The numbered lines of a page without code blocks and tables, each link reduced to its text."""
    lines = []
    is_fenced = False
    for number, line in enumerate(page.splitlines(), start=1):
        is_fence = line.startswith("```")
        is_fenced ^= is_fence
        if not (is_fenced or is_fence or line.startswith(("|", "    "))):
            lines.append((number, regex.sub(r"\]\([^)]*\)", "]", line)))
    return lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_line_of_prose_is_at_most_120_columns_wide(page):
    long = [number for number, line in prose(page.read_text(encoding="utf-8")) if len(line) > 120]
    assert not long, f"{page.name}: wrap lines {long} at 120 columns"
