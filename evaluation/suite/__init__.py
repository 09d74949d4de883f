"""Every system of the papers on real collections: tasks, records that a run goes on from, figures, reports, plots."""
