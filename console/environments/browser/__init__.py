"""Web pages in a browser, for the planning Actors; the pages and tasks come from a folder (`browser=FOLDER`)."""

from console.environments.browser.world import GO_BACK, INVALID, SUBMISSION, BrowserWorld
from console.environments.environment import Environment

BROWSER = Environment(
    "browser",
    "Browser",
    critical=(SUBMISSION,),
    ends=True,
    not_executed=(INVALID,),
    start=BrowserWorld,
    replayable=True,
    verbs=("click", "type", "scroll", "goto", "note_down", "answer"),
    back=GO_BACK,
    answering="answer[{answer}]",
    most_worlds=2,
    action_timeout_s=60.0,
    is_in_process=lambda task: True,
)
