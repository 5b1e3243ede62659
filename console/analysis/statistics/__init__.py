"""What a user study shows: tidy frames in, frozen values out.

A figure that is undefined is None and its note says why in words; nothing here prints, warns or draws.
"""
