"""The experiments of the paper, run with the public interface of the package."""
