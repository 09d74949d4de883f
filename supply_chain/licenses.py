"""Finds the licence of each package in requirements.lock, and writes the table of docs/licences.md.

    python -m supply_chain.licenses

A licence is an SPDX expression (https://spdx.org/licenses/). It comes from the metadata of the installed package, or
from `READ_BY_HAND` where these do not say it in SPDX's words.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, get_spdx_licensing

from supply_chain.lock import ROOT, RUNTIME_LOCK, read_lock

PAGE = ROOT / "docs" / "licences.md"
_HEAD = "| package | licence |\n|---|---|\n"

# Licences that a package of ours may have: they ask for a notice, or (MPL) for the source of changed files.
ALLOWED = frozenset(
    [
        "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0",
        "CNRI-Python", "ISC", "MIT", "MPL-1.1", "MPL-2.0", "PSF-2.0", "ZPL-2.1", "Zlib",
    ]
)  # fmt: skip

# Read in the licence file of the package: its metadata say only "BSD", nothing, or it is not installed on each system.
READ_BY_HAND = {
    "cached-property": "BSD-3-Clause",
    "colorama": "BSD-3-Clause",
    "events": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "itsdangerous": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "justext": "BSD-2-Clause",
    "protobuf": "BSD-3-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "scipy": "BSD-3-Clause",
    "tzdata": "Apache-2.0",
    "waitress": "ZPL-2.1",
    "whoosh-reloaded": "BSD-2-Clause",
}
# Classifiers of PyPI that name one licence.
_CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


@cache
def _spdx() -> Any:
    """Read when it is first needed: it takes half a second."""
    return get_spdx_licensing()


class LicenceProblem(ValueError):
    """A licence that is not known or not allowed; the message names the package and the cure."""


def licence_of(name: str) -> str:
    """The SPDX expression of a package.

    Raises:
        LicenceProblem: nothing says it.
    """
    if name in READ_BY_HAND:
        return READ_BY_HAND[name]
    try:
        return licence_in(metadata(name))  # type: ignore[arg-type]
    except (PackageNotFoundError, LicenceProblem) as error:
        raise LicenceProblem(
            f"the licence of {name} is not known; read its licence file and add it to READ_BY_HAND in "
            "supply_chain/licenses.py"
        ) from error


def licence_in(fields: Mapping[str, str]) -> str:
    """The SPDX expression in a package's metadata: License-Expression, else License, else its only classifier.

    Raises:
        LicenceProblem: none of them is one.
    """
    for key in ("License-Expression", "License"):
        value = fields.get(key) or ""
        if value and len(value) < 200 and (expression := _normalised(value)):
            return expression
    classifiers = fields.get_all("Classifier") if hasattr(fields, "get_all") else []
    named = {one for one in classifiers or [] if one.startswith("License ::")}
    if len(named) == 1 and (found := _CLASSIFIERS.get(named.pop())):
        return found
    raise LicenceProblem("the metadata name no licence of SPDX")


def _normalised(expression: str) -> str:
    """The expression with SPDX's own spelling; empty if it is none."""
    try:
        return str(_spdx().parse(expression, validate=True))
    except (ExpressionError, ValueError):
        return ""


def check_allowed(name: str, expression: str) -> None:
    """Of `A OR B` one has to be allowed, of `A AND B` both.

    Raises:
        LicenceProblem: the licence is not among `ALLOWED`.
    """
    if not _is_allowed(_spdx().parse(expression, validate=True)):
        raise LicenceProblem(
            f"{name} has the licence {expression}, which is not among ALLOWED in supply_chain/licenses.py; leave the "
            "package out, or allow the licence if its terms permit it"
        )


def _is_allowed(node: Any) -> bool:
    if isinstance(node, _spdx().AND):
        return all(map(_is_allowed, node.args))
    if isinstance(node, _spdx().OR):
        return any(map(_is_allowed, node.args))
    return str(node) in ALLOWED


def page(text: str, lock: Path = RUNTIME_LOCK) -> str:
    """The page with its table made anew.

    Raises:
        LicenceProblem: a licence is not known or not allowed.
    """
    rows = []
    for name in sorted({pin.name for pin in read_lock(lock)}):
        expression = licence_of(name)
        check_allowed(name, expression)
        rows.append(f"| {name} | {expression} |\n")
    return text.partition(_HEAD)[0] + _HEAD + "".join(rows)


if __name__ == "__main__":
    try:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    except LicenceProblem as problem:
        sys.exit(str(problem))
