"""Where rows come from: blocks, samples, sums over them; `open` for tables in files."""

from kmpe.rows.opening import Table
from kmpe.rows.opening import open_table as open  # noqa: A004 - kmpe.rows.open is its name

__all__ = ["Table", "open"]
