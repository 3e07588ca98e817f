"""recdemo: choose a text embedding model and a dimension for similar items."""

__version__ = "0.1.0"
