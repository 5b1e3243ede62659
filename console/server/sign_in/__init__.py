"""The sign-in in plain HTML: the pages that work without an open session."""
