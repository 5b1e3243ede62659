"""What the layouts share: the records they are filled with, conversations, and what a layout is."""
