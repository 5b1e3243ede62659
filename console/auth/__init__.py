"""Authentication: sign-in at a browser, the tokens of agents at the HTTP API, and the secrets that both keep."""
