"""Fits of every kind of data that users may bring, and the promises that each must keep."""
