"""Review: what a person sees of an item, what they decide, and who stands in for one."""
