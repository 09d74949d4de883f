"""What a report says of the machine that it was made on."""

from __future__ import annotations

import platform

import numpy as np

from papers.base.machine import cpu_name, machine


def test_the_processor_is_named_as_linux_does(tmp_path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nvendor_id\t: X\nmodel name\t: X 9: eight cores\nmodel name\t: Y\n")

    assert cpu_name(info) == "X 9: eight cores"


def test_a_processor_that_linux_does_not_name_has_the_name_of_its_kind(tmp_path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nCPU part\t: 0xd0c\n")

    assert cpu_name(info) == cpu_name(tmp_path / "nothing")
    assert cpu_name(info) in (platform.processor(), platform.machine())


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert machine(["numpy", "no-such-package"])["packages"] == {"numpy": np.__version__, "no-such-package": None}
