"""The error for tables that cannot be read or fitted."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["TableError", "nearest"]


class TableError(ValueError):
    """A table cannot be read, or not fitted; the message says why and what to do.

    See Also
    --------
    read_table, fit : Raise it.

    Examples
    --------
    >>> from kmpe.table import TableError, read_table
    >>> try:
    ...     read_table("no such file.csv")
    ... except TableError as error:
    ...     print(str(error)[:16])
    no such file.csv
    """


def nearest(name: str, names: Iterable[str]) -> str:
    """Return advice for an unknown name: the most similar name, or the first ones."""
    names = list(names)
    found = get_close_matches(name.lower(), [other.lower() for other in names], 1, 0.6)
    if found:
        close = next(other for other in names if other.lower() == found[0])
        return f"is it {close!r}?"
    return "there are " + ", ".join(map(repr, names[:10])) + ", ..." * (len(names) > 10)
