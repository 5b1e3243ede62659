"""Statistics of studies, from tidy frames to frozen dataclasses; an undefined one is None, with a note."""
