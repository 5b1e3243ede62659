"""The widgets that pages are drawn with."""
