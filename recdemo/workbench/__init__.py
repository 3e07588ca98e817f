"""The terminal UI put together with the rest: a data set, a store, models and runs."""
