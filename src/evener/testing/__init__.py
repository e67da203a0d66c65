"""Fakes that ship with evener. Each passes the same contract suite as the real thing beside it."""
