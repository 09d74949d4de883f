"""The profile of the proxy: its stages exist, and a stage within another stops its clock."""

import pytest

from benchmarks.profile_proxy import STAGES, Stages, owner_of


@pytest.mark.parametrize("name", [name for names in STAGES.values() for name in names])
def test_every_function_of_a_stage_exists(name):
    owner, attribute = owner_of(name)
    assert callable(getattr(owner, attribute))


def test_a_stage_within_another_counts_there_alone():
    stages = Stages()
    inner = stages.probed("inner", lambda: sum(range(300_000)))
    stages.probed("outer", lambda: [inner() for _ in range(5)])()
    found = stages.seconds()
    assert set(found) == {"inner", "outer"}
    assert found["inner"] > found["outer"]
