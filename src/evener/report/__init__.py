"""Say what a run found: one story, told in the terminal and as a page. Pure: it reads records and writes text."""
