"""Models that travel: files that run nothing when they are read, and ONNX."""

from kmpe.io.files import ModelFileError, load, save
from kmpe.io.onnx import to_onnx

__all__ = ["ModelFileError", "load", "save", "to_onnx"]
