"""Model files, which run no code when they are loaded, and ONNX export."""

from kmpe.io.files import ModelFileError, load, save
from kmpe.io.onnx import to_onnx

__all__ = ["ModelFileError", "load", "save", "to_onnx"]
