"""Statistics of user studies: functions from tidy frames to frozen dataclasses.

An undefined statistic is None and its note gives the reason; no function here prints, warns or draws.
"""
