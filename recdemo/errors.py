"""The errors a user can fix. Each is shown as one line on stderr, with exit status 1.

The family is closed: a fault of the data, of a model or its service, or of the place where
collections live. A programmer's mistake stays a ``ValueError`` and keeps its traceback.
"""


class RecdemoError(Exception):
    """Something the user can fix; the text says what was expected and what to do."""


class DatasetError(RecdemoError):
    """A catalog, interactions, texts or truth lists cannot be used as they are."""


class EmbeddingError(RecdemoError):
    """A model is unknown, cannot be reached or gave an unusable answer."""


class StoreError(RecdemoError):
    """Collections, runs or other files of recdemo cannot be read or written."""
