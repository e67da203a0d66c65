"""What a report says about a campaign, as one story, and its faces: page, terminal, Markdown, CSV. Pure."""
