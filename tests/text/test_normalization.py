"""The form in which terms are compared: what is one letter in a language or a script."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reranker.text.languages import known_languages
from reranker.text.normalization import as_written, normalize_term, spellings

# Letters of the scripts and languages that have rules, their marks, and what stands between letters.
LETTERS = "aIİıßЁёЙΣςl·L'’ʼ字𠮷ไทยမ\u0301\u0307 ＡｚＺ９ｶﾞカーﬁ"
LETTERS += "كکيیىأإآٱاةهۀـ\u064e\u0651\u0654\u0670אב\u05b8\u05bc־क़ष\u094d\u200c\u200d"


@pytest.mark.parametrize(
    ("language", "text", "normalized"),
    [
        # Unicode's SpecialCasing.txt, "tr" and "az": U+0130 ↔ i, I ↔ U+0131.
        ("tr", "İSTANBUL ISPARTA", "istanbul ısparta"),
        ("tr", "I\u0307zmir ILIK", "izmir ılık"),
        ("az", "BAKI İL", "bakı il"),
        # In other languages the simple mapping of UnicodeData.txt, 0130 → 0069, as Lucene's LowerCaseFilter has it.
        ("en", "İSTANBUL", "istanbul"),
        ("und", "İ", "i"),
        ("ru", "Ёлка, ещё", "елка, еще"),
        ("be", "Ёлка", "ёлка"),
        ("uk", "П'ЯТЬ м’ята", "пʼять мʼята"),
        ("fr", "l'hiver", "l'hiver"),
        ("ca", "COL·LECCIÓ a·b", "coŀlecció a·b"),
        # Lucene's ArabicNormalizer: alef forms, dotless yeh, teh marbuta, tatweel, short vowels.
        ("ar", "مُحَمَّدٌ", "محمد"),
        ("ar", "كـتـاب", "كتاب"),
        ("ar", "أحمد إلى آخر", "احمد الي اخر"),
        ("ar", "مدينة", "مدينه"),
        # Lucene's PersianNormalizer takes both keyboards' yeh and kaf for one, here the Persian ones.
        ("fa", "كتاب علي", "کتاب علی"),
        ("fa", "خانهٔ آب", "خانه آب"),
        # Marks and tatweel go in other languages of the script; their letters stay.
        ("ur", "اُردُو ے ی", "اردو ے ی"),
        ("en", "كِتاب أ", "كتاب أ"),
        ("he", "שָׁלוֹם בְּרֵאשִׁית־הַ", "שלום בראשית־ה"),
        ("he", "\ufb2aלום", "שלום"),
        # Lucene's IndicNormalizer drops joiners; NFC writes क़ as two.
        ("hi", "क्\u200dष \u0958लम", "क्ष \u0915\u093cलम"),
        ("en", "zero\u200cwidth", "zero\u200cwidth"),
        # Lucene's CJKWidthFilter.
        ("ja", "ＷＯＲＤ ﾊﾟｿｺﾝ ８", "word パソコン 8"),
        ("ja", "カﾞ、｡", "ガ、｡"),
        # Unicode's CaseFolding.txt: FB00 to FB06, which the texts of PDF files have, and 00DF → 0073 0073.
        ("en", "ﬁnal oﬃce ﬄ ﬀ ﬂ ﬅ ﬆ", "final office ffl ff fl st st"),
        ("de", "STRASSE Straße ẞ", "strasse strasse ss"),
        ("en", "Straße", "straße"),
        ("el", "ΛΌΓΟΣ", "λόγοσ"),
    ],
)
def test_what_is_one_letter_in_a_language_is_written_as_one(language, text, normalized):
    assert normalize_term(text, language) == normalized


@given(st.text(st.one_of(st.sampled_from(LETTERS), st.characters(exclude_categories=["Cs"])), max_size=12))
@pytest.mark.parametrize("language", ["und", "tr", "ru", "uk", "ca", "de", "ar", "fa"])
def test_what_is_normalised_stays_as_it_is(language, text):
    once = normalize_term(text, language)
    # A Turkish I comes of nothing that is lower case already.
    assert normalize_term(once, language) == once
    assert unicodedata.is_normalized("NFC", once)


@pytest.mark.parametrize("mark", ["\u0316", "\u20d2", "\u0f71", "\u0f73"])
def test_a_letter_has_at_most_30_marks(mark):
    # Unicode's Stream-Safe Text Format (UAX 15, section 13); NFC of more takes the square of their number.
    kept = unicodedata.normalize("NFC", f"a{mark * 30}")
    assert normalize_term(f"a{mark * 1_000}b{mark * 30}") == f"{kept}b{kept[1:]}"


def test_these_languages_have_rules_of_their_own():
    sample = "İI ß Ёё м'я l·l أى ة ك ي"
    plain = normalize_term(sample)
    own = {language for language in known_languages() if normalize_term(sample, language) != plain}
    assert own == {"tr", "az", "ru", "uk", "be", "ca", "de", "ar", "fa"}


@pytest.mark.parametrize(("term", "language", "written"), [("λόγοσ", "el", "λόγος"), ("coŀlecció", "ca", "col·lecció")])
def test_a_term_is_shown_as_people_write_it(term, language, written):
    assert as_written(term, language) == written
    assert normalize_term(written, language) == term


@pytest.mark.parametrize(
    ("word", "language"),
    [
        ("εκτυπωτής", "el"),
        ("heiß", "de"),
        ("heisse", "de"),
        ("straße", "de"),
        ("горячо", "ru"),
        ("чёрный", "ru"),
        ("зелёный", "ru"),
        ("комп'ютер", "uk"),
        ("комп’ютер", "uk"),
        ("сям'я", "be"),
        ("col·legi", "ca"),
        ("طابعة", "ar"),
        ("الإجابة", "ar"),
        ("أحمد", "ar"),
        ("مستشفى", "ar"),
        ("أبي", "ar"),
        ("printer", "en"),
    ],
)
def test_the_spelling_of_a_text_is_among_those_of_its_term(word, language):
    found = spellings(normalize_term(word, language), language)
    assert word in found
    assert len(set(found)) == len(found) <= 6
    assert {normalize_term(one, language) for one in found} == {normalize_term(word, language)}


@pytest.mark.parametrize("language", ["und", "tr", "de", "ru", "uk", "ca", "ar", "fa"])
@given(parts=st.lists(st.text(st.one_of(st.sampled_from(LETTERS), st.characters()), max_size=8), max_size=4))
@example(parts=["Ａ", "ё\u0300"])
def test_nothing_before_a_blank_changes_what_is_behind_it(language, parts):
    # By this a text may be read piece by piece.
    assert normalize_term(" ".join(parts), language) == " ".join(normalize_term(part, language) for part in parts)
