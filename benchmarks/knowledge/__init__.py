"""Relations that rules derive, against libraries for graphs."""
