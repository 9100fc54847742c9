"""Access to the data: blocks of rows, sums over them, samples; `open` for tables in files."""

from kmpe.rows.opening import Table
from kmpe.rows.opening import open_table as open  # noqa: A004 - kmpe.rows.open is its name

__all__ = ["Table", "open"]
