"""The compiled loops: one C library, called by ctypes. See README.md beside this file."""
