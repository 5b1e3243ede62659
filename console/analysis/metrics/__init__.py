"""Arrays in, numbers out. Labels are booleans, true is misaligned; a figure that is undefined is None, never NaN."""
