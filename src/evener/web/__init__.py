"""The local page: one more face on the API, with no logic of its own."""
