"""The report: one HTML file that needs no network, and a CSV file for each table."""

from kmpe.paper.report.csvs import csv_files
from kmpe.paper.report.page import render

__all__ = ["csv_files", "render"]
