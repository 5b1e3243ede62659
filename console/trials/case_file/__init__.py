"""The case file of a run: one HTML page that accounts for each decision, and checks its own audit chain.

The page contains the run's audit chain with every event. A script in the page and `check_case_file` compute the hashes
again. Each written file is recorded in the audit log with its digest, so that a changed file is not mistaken for it.
"""

from console.trials.case_file.contents import (
    CaseFile,
    CheckedFile,
    Section,
    check_case_file,
    gather,
    make_case_file,
    write_case_file,
)
