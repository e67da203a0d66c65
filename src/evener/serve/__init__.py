"""One door for a team: keys, a fair queue, routing, and when a deployment behind it counts as dead."""
