"""The papers' systems, their suite and the studies behind the default order; not part of the wheel."""
