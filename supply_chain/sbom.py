"""Writes the parts of Sinkrank as a CycloneDX SBOM in JSON: the packages of requirements.lock.

    python -m supply_chain.sbom build/sinkrank.cdx.json

Versions and hashes come from the lock file, licences and dependencies from the metadata of the installed packages.
"""

from __future__ import annotations

import sys
import tomllib
import uuid
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.contrib.this.builders import this_component
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply_chain.licenses import LicenceProblem, licence_of
from supply_chain.lock import ROOT, RUNTIME_LOCK, NotALock, Pin, read_lock

_LICENSES = LicenseFactory()


def make_sbom(pins: Iterable[Pin]) -> str:
    """The SBOM of the pinned packages, as JSON of CycloneDX 1.6.

    Raises:
        LicenceProblem: a licence is not known.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = {pin: _component(pin) for pin in pins}
    root = Component(
        name=project["name"], version=project["version"], type=ComponentType.APPLICATION, bom_ref=project["name"],
        licenses=[_LICENSES.make_from_string(project["license"])],
        purl=PackageURL("pypi", name=project["name"], version=project["version"]),
    )  # fmt: skip
    # The same lock file has the same number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, repr([project["version"], *sorted(parts)]))
    bom = Bom(components=parts.values(), serial_number=number)
    bom.metadata.component = root
    bom.metadata.tools.components.add(this_component())
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    bom.register_dependency(root, _among(parts, [*project["dependencies"], *extras]))
    for pin, part in parts.items():
        bom.register_dependency(part, _among(parts, _requirements(pin.name)))
    return JsonV1Dot6(bom).output_as_string(indent=1)


def schema_error(text: str) -> object | None:
    """What in an SBOM does not fit the schema of CycloneDX 1.6; None if all does."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator  # takes seconds to import

    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)


def _component(pin: Pin) -> Component:
    url = f"https://pypi.org/project/{pin.name}/{pin.version}/"
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in pin.sha256]
    return Component(
        name=pin.name, version=pin.version, type=ComponentType.LIBRARY, bom_ref=f"{pin.name}=={pin.version}",
        licenses=[_LICENSES.make_from_string(licence_of(pin.name))],
        purl=PackageURL("pypi", name=pin.name, version=pin.version),
        external_references=[ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(url), hashes=hashes)],
    )  # fmt: skip


def _requirements(name: str) -> list[str]:
    """What a package needs without its extras; nothing if it is not installed here."""
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return []
    return [line for line in lines if _is_needed(Requirement(line))]


def _is_needed(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _among(parts: dict[Pin, Component], requirements: Iterable[str]) -> list[Component]:
    """The parts that requirements name."""
    names = {canonicalize_name(Requirement(line).name) for line in requirements}
    return [part for pin, part in parts.items() if pin.name in names]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m supply_chain.sbom FILE")
    try:
        text = make_sbom(read_lock(RUNTIME_LOCK))
    except (LicenceProblem, NotALock) as problem:
        sys.exit(str(problem))
    if error := schema_error(text):
        sys.exit(f"the SBOM does not fit the schema of CycloneDX: {error}")
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
