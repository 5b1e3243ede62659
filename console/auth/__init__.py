"""Who is at the door: sign-in, the token of the API, and the secrets that are kept for both."""
