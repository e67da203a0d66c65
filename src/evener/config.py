"""rig.toml at the door."""
