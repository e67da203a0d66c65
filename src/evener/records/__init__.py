"""The nouns: frozen records, standard library only. Units stand in the names; None is "unknown", never 0."""
