"""Plans of Actors: their versions, what each line comes from, and the training that makes the next one (AutoPlan)."""
