"""Facts and deductive rules at work: the rows of relations, as far as somebody asks for them."""
