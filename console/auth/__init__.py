"""Authentication: people, invitations and sessions, the tokens of agents, and the secrets that are kept for both."""
