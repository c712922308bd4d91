"""All that people look at: the viewer, the player of pages, reports."""
