"""The systems that are compared with our methods. All have the interface `protocol.System`."""

from evaluation.systems.catalogue import SYSTEM_NAMES, make_systems, parse_systems
from evaluation.systems.protocol import Distances, System

__all__ = ["SYSTEM_NAMES", "Distances", "System", "make_systems", "parse_systems"]
