"""Aider's chat history: edits and commands are calls with their results, and its own lines are no requests."""

import pytest

from tests.console.runs.importers.samples import say

ANSWER = """I add the rate.

shop.py
```python
<<<<<<< SEARCH
def total(n):
    return n
=======
def total(n):
> not a line of Aider
    return n * 1.19
>>>>>>> REPLACE
<<<<<<< SEARCH
old = 1
=======
>>>>>>> REPLACE
```

**tests/new test.py**
```python
assert True
```

```bash
pytest -q
rm -r build
```
"""
TOLD = """
> Applied edit to shop.py..
> Applied edit to notes.txt..
> Commit 1a2b3c4 feat: rate..
> pytest -q  ..
rm -r build..
> Run shell commands? (Y)es/(N)o/(D)on't ask again [Yes]: {}..
"""
RUN = """> Running pytest -q..
> Running rm -r build..
> Added 3 lines of output to the chat...
"""
EDITS = [
    'edit({"path":"shop.py","search":"def total(n):\\n    return n\\n",'
    '"replace":"def total(n):\\n> not a line of Aider\\n    return n * 1.19\\n"})',
    'edit({"path":"shop.py","search":"old = 1\\n","replace":""})',
    'edit({"path":"notes.txt"})',
]
COMMANDS = ['bash({"command":"pytest -q"})', 'bash({"command":"rm -r build"})']


def chat(*parts):
    """A chat as Aider writes it: `..` at an end of a line stands for the two spaces of its own lines."""
    text = "".join(["\n# aider chat started at 2025-03-01 10:00:00\n\n> Aider v0.86..\n", *parts])
    return text.replace("..\n", "  \n")


@pytest.mark.parametrize("answer", ["y", "n"])
def test_edits_and_commands_are_calls_with_their_results(write, entries, answer):
    ran = RUN if answer == "y" else ""
    log = chat("\n#### /add shop.py..\n\n> Added shop.py..\n", "\n#### count the tax..\n#### of 19 %..\n\n", ANSWER)
    (entry,) = entries(write("log.md", log + TOLD.format(answer).replace("..\n", "  \n") + ran.replace("..\n", "  \n")))
    one = entry.trajectory
    assert one.instruction == "count the tax\nof 19 %"
    assert [step.action for step in one.steps] == [*EDITS, *COMMANDS]
    seen = [step.observation for step in one.steps]
    assert seen[:4] == ["", "Applied edit to shop.py", "Applied edit to notes.txt", ""]
    assert f"Run shell commands? (Y)es/(N)o/(D)on't ask again [Yes]: {answer}" in seen[4]
    assert ("Added 3 lines" in seen[4]) == (answer == "y")
    assert one.steps[0].thought.startswith("I add the rate.")
    assert "<<<<" not in one.steps[0].thought
    assert one.extra["context"] == ["Aider v0.86", "/add shop.py", "Added shop.py"]
    assert {what: told.count for what, told in entry.left_out.items()} == {
        "text of an edit (it stays in the answer)": 1
    }


def test_each_request_and_each_chat_is_a_trajectory(write, trajectories):
    whole = chat("\n#### tidy up..\n\nnew.py\n```\nx = 1\n```\n\n> Applied edit to new.py..\n\nDone.\n")
    asked = "\n#### /ask why?  \n\nBecause:\n\n#### A heading of the model\n\n> a quote of the model\n"
    later = whole.replace("2025-03-01", "2025-03-02")
    read = trajectories(write("log.md", whole + asked + later))
    names = ["2025-03-01 10:00:00/1", "2025-03-01 10:00:00/2", "2025-03-02 10:00:00/1"]
    assert [one.task_id for one in read] == names
    made = ['edit({"path":"new.py","content":"x = 1\\n"})', say("Done.")]
    words = say("Because:\n\n#### A heading of the model\n\n> a quote of the model")
    assert [[step.action for step in one.steps] for one in read] == [made, [words], made]
    assert [one.instruction for one in read] == ["tidy up", "why?", "tidy up"]


def test_a_history_whose_blanks_an_editor_removed_is_read_too(write, trajectories):
    log = chat(
        "\n#### fix it..\n\na.py\n```\n<<<<<<< SEARCH\n> x\n=======\n#### y\n>>>>>>> REPLACE\n```\n\n> Commit 1..\n"
    )
    (one,) = trajectories(write("log.md", log.replace("  \n", "\n")))
    assert [step.action for step in one.steps] == ['edit({"path":"a.py","search":"> x\\n","replace":"#### y\\n"})']
    assert (one.instruction, one.steps[0].observation) == ("fix it", "Commit 1")


def test_an_edit_that_has_no_end_is_named(write, entries):
    log = chat("\n#### fix it..\n\na.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n")
    (entry,) = entries(write("log.md", log))
    assert [step.action for step in entry.trajectory.steps] == [
        'edit({"path":"a.py","search":"x\\n","replace":"y\\n"})'
    ]
    assert [*entry.left_out] == ["edit block without its end (read to the end of the answer)"]
