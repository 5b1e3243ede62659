"""The console in a browser: its pages and their parts."""
