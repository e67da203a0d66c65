"""What a campaign does in which order, what it will take, what its journal says, and who is out. Pure."""
