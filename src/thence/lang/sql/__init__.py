"""Event SQL: queries as statements of the language, turned into rules before names are resolved."""
