"""Demonstrations: small worlds that are simulated, and programs that watch them."""
