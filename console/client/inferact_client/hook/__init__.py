"""`inferact-hook`: coding agents on the command line ask the console before they run a tool.

`hosts` describes the programs, `settings_file` writes their settings, `answers` answers one call, `notes` keeps what
one session needs, and `canary` tests an installation. A call runs only if the hook says so: every failure denies.
"""
