"""The console in a browser: pages, and the parts that they are drawn with."""
