"""Scores of models against the truth, and how far they can be trusted."""
