"""The sign-in pages in plain HTML, which work without an open session."""
