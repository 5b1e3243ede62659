"""The sign-in in plain HTML: what has to work before any page of the console may be opened."""
