"""User studies: designed, run session by session, and reported."""
