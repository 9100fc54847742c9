"""Solvers: reweighted least squares, L-BFGS, annealing, streams."""
