"""The picture of a transport: read back as XML."""

from xml.etree import ElementTree

import pytest

from reranker import Reranker
from reranker.ranking.explanation import explain
from sinkrank.actions.transport_plot import transport_svg
from tests.tiny import tiny_embeddings

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    return Reranker(tiny_embeddings(tmp_path_factory.mktemp("tiny") / "embeddings"))


def explained(reranker, query, document, **options):
    bag = reranker.idf.weigh(reranker.embeddings.bag(document, "en"), "en")
    return explain(reranker.query(query, "fr").weighted, bag, reranker.embeddings, **options)


def drawn(explanation, title="a title"):
    return ElementTree.fromstring(transport_svg(explanation, title))


def test_a_band_is_as_thick_as_the_mass_that_moved(reranker):
    picture = drawn(explained(reranker, "chat pain", "bread cat", method="emd"))
    bands = {band.find(f"{SVG}title").text: float(band.get("stroke-width")) for band in picture.iter(f"{SVG}path")}
    # Half of the mass each, of 420 px.
    assert set(bands.values()) == {210.0}
    assert sorted(name.partition(":")[0] for name in bands) == ["chat → cat", "pain → bread"]


def test_a_far_pair_has_another_colour_than_a_near_one(reranker):
    picture = drawn(explained(reranker, "chat", "cat water", method="sinkhorn"))
    colours = {band.find(f"{SVG}title").text.split(":")[0]: band.get("stroke") for band in picture.iter(f"{SVG}path")}
    assert colours["chat → cat"] != colours["chat → water"]


def test_each_word_is_named_beside_its_bar(reranker):
    picture = drawn(explained(reranker, "chat pain", "bread cat dog", method="sinkhorn"))
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    for word in ("chat", "pain", "bread", "cat", "dog"):
        assert texts.count(word) == 2  # in the bands and in the heat map


def test_the_darkest_cell_of_the_heat_map_is_the_largest_mass(reranker):
    explanation = explained(reranker, "chat pain", "bread cat dog", method="sinkhorn")
    cells = [cell for cell in drawn(explanation).iter(f"{SVG}rect") if cell.get("fill-opacity")]
    largest = max((pair for word in explanation.words for pair in word.pairs), key=lambda pair: pair.mass)
    darkest = max(cells, key=lambda cell: float(cell.get("fill-opacity")))
    assert float(darkest.get("fill-opacity")) == 1.0
    assert darkest.find(f"{SVG}title").text.startswith(f"{largest.query_word} → {largest.document_word}:")


def test_what_is_not_named_pair_by_pair_flows_to_the_other_words(reranker):
    explanation = explained(reranker, "chat", "cat dog bread", method="sinkhorn", pairs_per_word=1)
    (word,) = explanation.words
    bands = {band.find(f"{SVG}title").text for band in drawn(explanation).iter(f"{SVG}path")}
    rest = f"chat → other words: mass {word.rest_mass:.3f}, cost {word.rest_distance / word.rest_mass:.3f}"
    assert rest in bands


def test_markup_and_control_characters_in_a_text_are_drawn_as_text(reranker):
    picture = drawn(explained(reranker, "chat", "cat"), title="<b>\x1b[31m & \x00</b>")
    assert picture.find(f"{SVG}text").text == "<b> [31m &  </b>"


def test_a_query_of_many_words_is_cut_and_says_how_many(reranker):
    from dataclasses import replace

    explanation = explained(reranker, "chat", "cat dog")
    many = replace(explanation, words=explanation.words * 30)
    texts = [text.text for text in drawn(many).iter(f"{SVG}text")]
    assert "5 other words" in texts
