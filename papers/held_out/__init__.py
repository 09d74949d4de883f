"""Measures methods and other systems on held-out pages: each page is a query for its own translation."""
