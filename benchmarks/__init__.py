"""Comparisons in speed, memory and accuracy: `make bench`, or python -m benchmarks NAME."""
