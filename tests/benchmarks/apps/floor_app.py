"""The page floor: the console's shell, decision bar, write and next-item query, without the trajectory."""

from pathlib import Path

from shell import show_shell

show_shell("console/web/pages/review.py", Path(__file__).with_name("floor_review.py"))
