"""Authentication: people, invitations and sessions, the token of the HTTP API, and the secrets that are kept."""
