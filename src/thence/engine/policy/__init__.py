"""The search for the matches that a policy chooses: nearest partners first, by index.

A policy could choose from all combinations of events, once they are there; of two types with
20,000 events each that would be 400 million. Here the events that end matches are taken one after
the other, and for each the best partners are looked for in the order in which the policy likes
them, until a match is complete. What is used up is skipped.
"""
