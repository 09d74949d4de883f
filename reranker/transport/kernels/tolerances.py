"""Numbers that the compiled loops and their plain reference share."""

from __future__ import annotations

# An over-relaxed solve goes further after a change less than this part of the one before. Where mass can hardly move
# changes stay the same but for the last digit, which must not choose: it differs from machine to machine.
SHRUNK = 0.999

# A mean of unit vectors shorter than this is what rounding leaves of one that cancels out: no direction.
VANISHING_NORM = 1e-6
