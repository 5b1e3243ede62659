"""Review: the view of an item, the decisions of people, and simulated reviewers."""
