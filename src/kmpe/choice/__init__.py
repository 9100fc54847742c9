"""Choices made from the data: the loss, its scale, the penalty, length scales and nodes."""
