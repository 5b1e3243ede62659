"""The widgets that pages consist of."""
