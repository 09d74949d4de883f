"""Each dependency has a licence that is known and allowed, and the page lists it."""

from __future__ import annotations

from email.message import Message

import pytest

from supply_chain import licenses
from supply_chain.licenses import LicenceProblem, check_allowed, licence_in, licence_of
from supply_chain.lock import RUNTIME_LOCK, read_lock


def fields(*lines: tuple[str, str]) -> Message:
    message = Message()
    for name, value in lines:
        message[name] = value
    return message


MIT, BSD = (f"License :: OSI Approved :: {name} License" for name in ("MIT", "BSD"))


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (fields(("License-Expression", "BSD-3-Clause AND MIT"), ("License", "BSD")), "BSD-3-Clause AND MIT"),
        (fields(("License", "mit")), "MIT"),
        (fields(("License", ""), ("Classifier", MIT)), "MIT"),
        (fields(("License", "the licence of the authors, see there"), ("Classifier", MIT)), "MIT"),
    ],
)
def test_a_licence_is_read_from_metadata_in_the_words_of_spdx(metadata: Message, expected: str) -> None:
    assert licence_in(metadata) == expected


@pytest.mark.parametrize(
    "metadata",
    [
        fields(),
        fields(("License", "BSD")),
        fields(("Classifier", BSD)),  # several licences have this name
        fields(("Classifier", MIT), ("Classifier", "License :: OSI Approved :: Apache Software License")),
    ],
)
def test_metadata_that_do_not_say_which_licence_are_an_error(metadata: Message) -> None:
    with pytest.raises(LicenceProblem):
        licence_in(metadata)


def test_a_package_that_nobody_knows_is_an_error_with_the_cure() -> None:
    with pytest.raises(LicenceProblem, match=r"no-such-package is not known.*READ_BY_HAND"):
        licence_of("no-such-package")


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("MIT AND Apache-2.0", True),
        ("GPL-3.0-only", False),
        ("MIT AND AGPL-3.0-only", False),
        ("MPL-2.0 OR GPL-2.0-only", True),
        ("Apache-2.0 WITH LLVM-exception AND MIT", True),
        ("GPL-3.0-only WITH GCC-exception-3.1", False),
        ("(MIT OR GPL-2.0-only) AND SSPL-1.0", False),
    ],
)
def test_one_side_of_or_and_both_of_and_have_to_be_allowed(expression: str, is_allowed: bool) -> None:
    if is_allowed:
        check_allowed("x", expression)
    else:
        with pytest.raises(LicenceProblem, match="x has the licence"):
            check_allowed("x", expression)


def test_the_page_lists_each_dependency_with_an_allowed_licence() -> None:
    text = licenses.PAGE.read_text(encoding="utf-8")
    assert text == licenses.page(text), "run python -m supply_chain.licenses"
    for pin in read_lock(RUNTIME_LOCK):
        assert f"\n| {pin.name} | " in text


def test_what_was_read_by_hand_is_still_needed() -> None:
    assert licenses.READ_BY_HAND.keys() <= {pin.name for pin in read_lock(RUNTIME_LOCK)}
    assert not licenses.ALLOWED & {"GPL-3.0-only", "AGPL-3.0-only", "SSPL-1.0"}
