"""Compares names (of fields, of members of a `_source`, of an answer) with the patterns of the engines."""


def is_match(pattern: str, name: str) -> bool:
    """Whether a pattern of the engine's, in which `*` stands for any characters, fits the whole name.

    >>> is_match("ti*e", "title"), is_match("ti*", "subtitle")
    (True, False)
    """
    # No regular expression: compiling those of a filter as large as a body may be takes a minute.
    start, *parts = pattern.split("*")
    if not parts:
        return pattern == name
    place = len(start) if name.startswith(start) else -1
    for part in parts[:-1]:
        if place >= 0 and (place := name.find(part, place)) >= 0:
            place += len(part)
    return place >= 0 and name.endswith(parts[-1], place)
