"""Review: what a reviewer sees of an item, what they decide, and simulated reviewers."""
