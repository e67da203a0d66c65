"""The terminal face: parse, call `evener.api`, show. Nothing heavy is imported before a command runs."""
