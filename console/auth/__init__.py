"""Authentication: people, invitations and sessions, agents and their tokens, and stored secrets."""
