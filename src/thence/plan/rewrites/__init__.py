"""Rewrites: each gives another plan that finds the same events for less. One a file."""
