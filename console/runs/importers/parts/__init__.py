"""What several formats share: reading lines and JSON records, chat messages, Thought/Action/Observation texts."""
