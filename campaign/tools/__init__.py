"""What several trials share: nodes, services, load, material, comparisons. Nothing here runs a trial."""
