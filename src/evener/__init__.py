"""evener: let unequal machines pull one model, and say whether it was worth it."""

__version__ = "0.1.0"
