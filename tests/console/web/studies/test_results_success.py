"""The part of a study's results that opens first."""

import subprocess
import sys

import pytest


@pytest.mark.at_length
def test_counting_success_loads_no_library_of_models():
    code = (
        "import sys, pandas as pd, console.web.studies.sections\n"
        "from console.studies.analysis import computations\n"
        "row = {'annotator_kind': 'human', 'condition': 'a', 'trial': 0, 'tasks': 4, 'solved_held': 1, 'closed': 1}\n"
        "rows = [{**row, 'participant': name, 'solved_paper': n} for n, name in enumerate('pqr')]\n"
        "print(len(computations()['success']({'success': pd.DataFrame(rows)})))\n"
        "print({name.partition('.')[0] for name in sys.modules} & {'statsmodels', 'sklearn', 'krippendorff'})\n"
        "print({'scipy.stats', 'scipy.optimize'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["2", "set()", "set()"]
