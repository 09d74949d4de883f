"""Five sentences in a language of each kind of script, of which each says what the English one says; written for the
tests. The rules of single languages are in `tests/text`."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

TOPICS = ("cat", "doctor", "park", "printer", "snow")

ENGLISH = (
    "The cat drinks warm milk in the kitchen.",
    "The doctor examines a patient in the hospital.",
    "Children play football in the park.",
    "The printer needs paper and black ink.",
    "Snow falls on the mountains in winter.",
)


class Sample(NamedTuple):
    """A language's sentences, and a query that writes words of one of them in another way.

    Attributes:
        topic: that of the sentence.
        found: the query's words as that sentence has them, in its order.
    """

    sentences: tuple[str, ...]
    query: str
    topic: str
    found: tuple[str, ...]


SAMPLES = {
    "ar": Sample(
        (
            "القطة تشرب الحليب الدافئ في المطبخ.",
            "الطبيب يفحص المريض في المستشفى.",
            "الأطفال يلعبون كرة القدم في الحديقة.",
            "الطابعة تحتاج إلى ورق وحبر أسود.",
            "الثلج يتساقط على الجبال في الشتاء.",
        ),
        "الطَّبِيب المسـتشفي",  # with short vowels and a tatweel, and without the dots of ى
        "doctor",
        ("الطبيب", "المستشفى"),
    ),
    "de": Sample(
        (
            "Die Katze trinkt warme Milch in der Küche.",
            "Der Arzt untersucht einen Patienten im Krankenhaus.",
            "Kinder spielen Fußball im Park.",
            "Der Drucker braucht Papier und schwarze Tinte.",
            "Im Winter fällt Schnee auf die Berge.",
        ),
        "FUSSBALL SPIELEN",
        "park",
        ("spielen", "Fußball"),
    ),
    "hi": Sample(
        (
            "बिल्ली रसोई में गर्म दूध पीती है।",
            "डॉक्टर अस्पताल में मरीज़ की जाँच करता है।",
            "बच्चे पार्क में फुटबॉल खेलते हैं।",
            "प्रिंटर को कागज़ और काली स्याही चाहिए।",
            "सर्दियों में पहाड़ों पर बर्फ़ गिरती है।",
        ),
        "बर्\u200d\u095e",  # with a joiner, and one character for फ and its dot
        "snow",
        ("बर्फ़",),
    ),
    "ja": Sample(
        (
            "猫は台所で温かい牛乳を飲む。",
            "医者は病院で患者を診察する。",
            "子供たちは公園でサッカーをする。",
            "プリンターには紙と黒いインクが必要だ。",
            "冬は山に雪が降る。",
        ),
        "ﾌﾟﾘﾝﾀｰのｲﾝｸ",
        "printer",
        ("プリンター", "インク"),
    ),
    "ko": Sample(
        (
            "고양이가 부엌에서 따뜻한 우유를 마신다.",
            "의사가 병원에서 환자를 진찰한다.",
            "아이들이 공원에서 축구를 한다.",
            "프린터에는 종이와 검은 잉크가 필요하다.",
            "겨울에는 산에 눈이 내린다.",
        ),
        unicodedata.normalize("NFD", "병원에서 의사가"),
        "doctor",
        ("의사가", "병원에서"),
    ),
    "th": Sample(
        (
            "แมวดื่มนมอุ่นในห้องครัว",
            "แพทย์ตรวจผู้ป่วยที่โรงพยาบาล",
            "เด็กๆเล่นฟุตบอลในสวนสาธารณะ",
            "เครื่องพิมพ์ต้องการกระดาษและหมึกสีดำ",
            "หิมะตกบนภูเขาในฤดูหนาว",
        ),
        "โรงพยาบาลแพทย์",
        "doctor",
        ("แพทย์", "โรง", "พยาบาล"),
    ),
    "zh": Sample(
        (
            "猫在厨房里喝热牛奶。",
            "医生在医院检查病人。",
            "孩子们在公园里踢足球。",
            "打印机需要纸张和黑色墨水。",
            "冬天雪落在山上。",
        ),
        "医院医生",
        "doctor",
        ("医生", "医院"),
    ),
}  # fmt: skip
