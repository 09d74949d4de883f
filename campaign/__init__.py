"""Long trials of the whole product on this machine: kills, hostile input, failing engines (`python -m campaign`)."""
