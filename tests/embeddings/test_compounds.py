"""Words without an embedding that consist of known words, in languages that write compounds as one word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.embeddings.compounds import COMPOUNDING
from reranker.embeddings.detection import guess_and_tie
from reranker.ranking.explanation import explain
from reranker.ranking.lexical import lexical_scores
from reranker.ranking.matches import find_matches
from reranker.ranking.reranker import Reranker
from reranker.ranking.unknown_terms import lacking_terms
from reranker.ranking.word_places import word_places
from reranker.text.documents import Document
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.translation import Translator
from tests.support.queries import query_of
from tests.support.tiny import write_embeddings, write_words

TEXTS = {
    # `bau` is in the most frequent twentieth, and `dia` and `log` are not.
    "de": f"bau {' '.join(f'wort{letter}' for letter in 'abcdefghijklmnopqrstuvwxyz')} haus bildschirm helligkeit "
    "drucker treiber arbeit sonne licht kind buch sprache kurs heizen element recht dia log steuer erhöhung lösung "
    "druck erzeugung kanal treten enden",
    "en": "screen paper tray print on",
    "fi": "satunnainen luku tulostin paperi tukos kirja pito kaksi puolinen hylly televisio kana villa",
    "sv": "skola böcker arbete",
    "da": "forsikring selskab",
    "no": "arbeid plass kjøp",
    "nl": "boek handel printer instelling",
}
WORDS = {language: text.split() for language, text in TEXTS.items()}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_words(tmp_path_factory.mktemp("compounds") / "store", WORDS)


def parts(store, language, word):
    return [store.term(term_id)[1] for term_id in store.stand_ins(language, word)]


@pytest.mark.parametrize(
    ("language", "word", "expected"),
    [
        ("de", "bildschirmhelligkeit", "bildschirm helligkeit"),
        ("de", "bildschirmhelligkeiten", "bildschirm helligkeit"),
        ("de", "druckertreiber", "drucker treiber"),
        ("de", "sonnenlicht", "sonne licht"),
        ("de", "kinderbücher", "kind buch"),
        ("de", "sprachkurs", "sprache kurs"),
        ("de", "heizelement", "heizen element"),
        ("de", "arbeitsbuchkurs", "arbeit buch kurs"),
        ("de", "baurecht", "bau recht"),
        ("de", "steuererhoehung", "steuer erhöhung"),
        ("fi", "satunnaisluku", "satunnainen luku"),
        ("fi", "paperitukos", "paperi tukos"),
        ("fi", "paperitukoksen", "paperi tukos"),
        ("fi", "kirjanpito", "kirja pito"),
        ("fi", "kaksipuolinen", "kaksi puolinen"),
        ("fi", "kirjahyllyssä", "kirja hylly"),
        ("sv", "skolböcker", "skola böcker"),
        ("da", "forsikringsselskab", "forsikring selskab"),
        ("no", "arbeidsplass", "arbeid plass"),
        ("nl", "boekenhandel", "boek handel"),
        ("nl", "printerinstellingen", "printer instelling"),
    ],
)
def test_a_compound_is_known_by_its_parts(store, language, word, expected):
    assert parts(store, language, word) == expected.split()


@pytest.mark.parametrize(
    ("language", "word", "expected"),
    [
        ("fi", "tulostimessa", "tulostin"),
        ("fi", "kirjoissa", "kirja"),
        ("de", "kanälen", "kanal"),
        ("de", "helligkeiten", "helligkeit"),
        ("de", "loesung", "lösung"),
        ("sv", "boecker", "böcker"),
        ("no", "kjoep", "kjøp"),
    ],
)
def test_an_inflected_or_respelled_word_is_known_by_its_term(store, language, word, expected):
    assert parts(store, language, word) == [expected]


def test_a_word_with_an_umlaut_takes_the_term_that_is_spelled_without(tmp_path):
    store = write_words(tmp_path / "store", {"sv": ["boecker", "skola"]})
    assert parts(store, "sv", "böcker") == ["boecker"]
    assert parts(store, "sv", "skolböcker") == ["skola", "boecker"]


@pytest.mark.parametrize(
    ("language", "word"),
    [
        ("en", "screenpaper"),  # English writes no compounds as one word
        ("fi", "televisiokanavilla"),  # an ending that is spelled like a term
        ("de", "tretenden"),  # one that the restored ending would give twice
        ("de", "dialog"),  # fragments of three letters that are rare words
        ("de", "druckxrecht"),  # a letter that belongs to no part
        ("de", "zebra"),
        ("de", "papertray"),  # words of another language
        ("de", "baubau8601"),  # a number
        ("de", "haus" * 17),  # 68 letters
    ],
)
def test_a_word_that_is_no_compound_of_known_words_stays_unknown(store, language, word):
    assert parts(store, language, word) == []


def test_the_fewest_parts_are_taken_and_of_as_many_the_most_frequent(tmp_path):
    # Words are the less frequent the later they come.
    words = ["druck", "erzeugung", "druckerzeugung", "drucker", "zeugung", "anlage", "erzeugungs"]
    assert parts(write_words(tmp_path / "a", {"de": words}), "de", "druckerzeugungsanlage") == [
        "druckerzeugung",
        "anlage",
    ]
    # druck 1 · erzeugung 2 = 2 against drucker 3 · zeugung 4 = 12, and the other way round.
    one = write_words(tmp_path / "b", {"de": ["druck", "erzeugung", "drucker", "zeugung"]})
    assert parts(one, "de", "druckerzeugung") == ["druck", "erzeugung"]
    other = write_words(tmp_path / "c", {"de": ["drucker", "zeugung", "druck", "erzeugung"]})
    assert parts(other, "de", "druckerzeugung") == ["drucker", "zeugung"]


def test_a_known_word_is_not_split_and_a_misspelled_one_takes_the_nearest(tmp_path):
    store = write_words(tmp_path / "store", {"de": ["bild", "schirm", "bildschirm"]})
    assert parts(store, "de", "bildschirm") == ["bildschirm"]
    assert parts(store, "de", "bildschirn") == ["bildschirm"]


def test_a_compound_counts_in_a_bag_as_if_its_parts_were_written_apart(store):
    whole, apart = (
        store.bag("Bildschirmhelligkeit Helligkeit", "de"),
        store.bag("Bildschirm Helligkeit Helligkeit", "de"),
    )
    assert whole.term_ids.tolist() == apart.term_ids.tolist()
    assert whole.counts.tolist() == apart.counts.tolist() == [1, 2]
    assert whole.n_unknown == 0


# English and German at the same places: screen (1, 0), brightness (0, 1).
PLACES = {
    "en": {"screen": (1.0, 0.0), "brightness": (0.0, 1.0), "cat": (-1.0, 0.0)},
    "de": {"bildschirm": (1.0, 0.0), "helligkeit": (0.0, 1.0), "katze": (-1.0, 0.0)},
}


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    return write_embeddings(tmp_path_factory.mktemp("placed") / "store", PLACES)


def test_a_query_of_one_compound_is_ranked_and_explained_by_its_parts(placed):
    query = Reranker(placed).query("Bildschirmhelligkeit", "de")
    assert (query.unknown_words, query.unknown_share) == ((), 0.0)
    document = IdfTable().weigh(placed.bag("screen brightness", "en"), "en")
    explained = explain(query.weighted, document, placed, "rwmd")
    assert explained.distance == pytest.approx(0.0, abs=1e-6)
    assert {(word.word, word.pairs[0].document_word) for word in explained.words} == {
        ("bildschirm", "screen"),
        ("helligkeit", "brightness"),
    }


def test_a_compound_is_translated_as_its_parts_and_may_be_spelled_alike_in_each_of_them(placed):
    query = Reranker(placed).query("Bildschirmhelligkeit Bildschirm", "de")
    groups = Translator(placed).groups(query, "en")
    assert [(group.token, group.n_occurrences) for group in groups] == [("bildschirm", 2), ("helligkeit", 1)]
    # A phrase needs a word of each group, so that the compound is no group of its own.
    assert [[each.term for each in group.translations] for group in groups] == [
        ["bildschirm", "bildschirmhelligkeit", "screen"],
        ["helligkeit", "bildschirmhelligkeit", "brightness"],
    ]


def test_a_compound_of_a_text_is_marked_where_a_query_word_is_near_to_one_of_its_parts(placed):
    query = Reranker(placed).query("brightness", "en")
    text = "Die Bildschirmhelligkeit der Katze"
    (match,) = find_matches(query, text, "de", placed)
    assert (text[match.start : match.end], match.query_word, match.likeness) == (
        "Bildschirmhelligkeit",
        "brightness",
        1.0,
    )
    places = word_places(Document("1", text, "de"), placed)
    assert places[placed.term_id("de", "bildschirm")].in_text == [[4, 24]]
    assert places[placed.term_id("de", "helligkeit")].in_text == [[4, 24]]


def test_a_text_matches_the_parts_of_a_querys_compound_each_by_name(placed):
    query = Reranker(placed).query("Bildschirmhelligkeit", "de")
    found = [(match.query_word, match.word) for match in find_matches(query, "screen, brightness", "en", placed)]
    assert found == [("bildschirm", "screen"), ("helligkeit", "brightness")]


def test_lexical_scores_of_a_compound_are_those_of_its_parts(placed):
    candidates = [(placed.bag(text, "de"), "de") for text in ("Bildschirmhelligkeit", "Bildschirm", "Katze")]
    ids = [placed.term_id("de", word) for word in PLACES["de"]]
    frequencies = DocumentFrequencies(50, np.array(ids, np.int32), np.array([5, 2, 9], np.int32))
    compound = lexical_scores(query_of(["bildschirmhelligkeit"], "de", placed), candidates, frequencies)
    apart = lexical_scores(query_of(["bildschirm", "helligkeit"], "de", placed), candidates, frequencies)
    assert compound.tolist() == apart.tolist()
    assert compound[0] > compound[1] > compound[2] == 0


def test_a_document_lacks_a_compound_of_its_language_if_it_lacks_a_part(placed):
    candidates = [(placed.bag(text, "de"), "de") for text in ("Helligkeit am Bildschirm", "Bildschirm")]
    lacking = lacking_terms(["bildschirmhelligkeit"], candidates, placed)
    assert lacking.tolist() == [[False], [True]]


def test_a_compound_tells_the_language_of_a_query_whose_words_tie(store):
    # `on` is a stop word in both languages, and a term in English.
    assert guess_and_tie("tulostimessa on paperitukos", store, ("en",)) == ("fi", False)


LINKS = [ending for rules in COMPOUNDING.values() for link in rules.links for ending in link]
PIECES = [*(word for words in WORDS.values() for word in words), *LINKS, *"aäåæeøuüßsx", "ae", "ue", "oe", "aa"]


@pytest.mark.parametrize("language", COMPOUNDING)
@given(pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=5))
def test_whatever_a_word_is_made_of_it_has_at_most_four_parts_which_are_terms_of_its_language(store, language, pieces):
    found = store.stand_ins(language, "".join(pieces))
    assert len(found) <= 4
    # A term of another language is spelled as the word is.
    assert all(store.term(term_id)[0] == language for term_id in found) or len(found) == 1
