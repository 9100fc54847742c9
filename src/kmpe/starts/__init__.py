"""Robust starts: which rows are believable before there is a fit."""
