"""Plans of Actors: their versions, the origin of each line, and the training of the next version (AutoPlan)."""
