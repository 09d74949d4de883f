"""Tools of several trials: nodes, services, load, test data, comparisons. Nothing here runs a trial."""
