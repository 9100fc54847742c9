"""The paper's experimental section, on what a user of the package can import."""
