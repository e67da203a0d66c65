"""Scorers: one answer to one question is worth so much, or cannot be scored, and why. Each knows one kind."""
