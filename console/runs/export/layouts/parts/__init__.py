"""Parts that the layouts share: records of a run, conversations, and the definition of a layout."""
