"""Statistics of studies: functions take data frames and return dataclasses. An undefined value is None, with a note."""
