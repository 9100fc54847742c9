"""Arrays of other libraries, on the devices where they are, in NumPy's words."""

from kmpe.foreign.array import Foreign, Library, asarray, self_product, to_numpy

__all__ = ["Foreign", "Library", "asarray", "self_product", "to_numpy"]
