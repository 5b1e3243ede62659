"""Parts that formats share: files, JSON records, chat messages, conversations, rewards and spans."""
