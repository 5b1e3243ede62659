"""`inferact-hook`: coding agents on the command line ask the console before they run a tool.

`hosts` describes the programs, `settings_file` writes their settings, `answers` answers one call, `notes` stores
the data of one session, and `canary` tests an installation. A call runs only if the hook allows it: every failure
denies the call.
"""
