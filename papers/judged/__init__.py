"""Measures methods and other systems on judged collections."""
