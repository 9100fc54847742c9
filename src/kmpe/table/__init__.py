"""From a table in a file to a robust fit, a report and a model."""

from kmpe.table.errors import TableError
from kmpe.table.fitting import Fitted, fit
from kmpe.table.predicting import predict
from kmpe.table.principal import pca
from kmpe.table.reading import Table, read_table
from kmpe.table.writing import write_csv, write_fit

__all__ = [
    "Fitted",
    "Table",
    "TableError",
    "fit",
    "pca",
    "predict",
    "read_table",
    "write_csv",
    "write_fit",
]
