"""Judged collections as users have them: read, indexed, measured beside other systems."""
