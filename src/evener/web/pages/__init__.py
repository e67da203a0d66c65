"""One module per page: a router, and what its templates need."""
