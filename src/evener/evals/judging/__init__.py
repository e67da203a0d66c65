"""Judges: models that label answers. What they are asked, how their replies are read, and how far they are believed."""
