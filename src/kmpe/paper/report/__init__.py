"""The report: one HTML file that needs no network, and a CSV file for each table."""

from kmpe.paper.report.artefacts import ARTEFACTS, Artefact
from kmpe.paper.report.csvs import csv_text
from kmpe.paper.report.page import render

__all__ = ["ARTEFACTS", "Artefact", "csv_text", "render"]
