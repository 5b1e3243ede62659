"""What a participant of a study sees and does."""
