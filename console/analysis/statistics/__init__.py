"""Statistics of studies, from tidy frames to frozen dataclasses; an undefined value is None, with a note."""
