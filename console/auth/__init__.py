"""Authentication: sign-in at a browser, the token of the HTTP API, and the secrets that both keep."""
