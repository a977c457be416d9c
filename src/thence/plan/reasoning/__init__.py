"""How relations are derived from tables: what is asked of them, and by which way it is found."""
