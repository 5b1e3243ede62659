"""`meet.py APP`: walks through a house with a new entry on every shelf, and prints as JSON what a person met there."""

import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from console.auth import people, sessions
from console.auth.people import Role
from console.cli import run_command
from console.database import database_url, now_ms, writing
from console.settings import settings
from storage.engine import reading

DESIGN = """
name: seam-study
source: {actor: scripted, environment: webshop}
tasks: 1
trials: 1
factors: {seam_factor: [low, high]}
participants: {oracle: 2}
"""
ACTOR_DESIGN = """
name: seam-actor-study
source: {actor: seam-actor, environment: seam-world}
tasks: 1
trials: 1
participants: {oracle: 1}
questionnaires: {after: [seam-scale]}
recruiting: {platform: seam, completion_url: "https://seam.example/done"}
"""
COMMANDS = {
    "detectors": "detector list",
    "prompts": "prompt list",
    "imported": "trajectory import log.seam --run seam-log",
    "refused": "trajectory import refused.seam --run refused",
    "judged": "detect seam-log --method seam-detector",
    "played": "run start --name live --actor seam-actor --env seam-world --tasks 1 --trials 2 --detector seam-detector",
    "reviewed": "review simulate --run live --reviewer seam-reviewer --policy seam-order",
    "next": "run next live",
    "status": "run status live --json",
    "exported": "export decisions --run live --out decisions.seam",
    "laid_out": "export seam-layout --run live --out tasks.txt",
    "created": "study create design.yaml",
    "shown": "study show seam-study",
    "results": "study results seam-study --table seam-table",
    "acted": "study create actor.yaml",
    "stands": "study show seam-actor-study",
    "report": "study report seam-study --out report",
    "presets": "study preset list",
}


def run(command):
    """(the exit code, what was printed)."""
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = run_command(command.split())
    return code, said.getvalue()


def page_of(app):
    """The titles on the new page, as the researcher sees it."""
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(app, default_timeout=60)
    with writing() as session:
        ada = people.add_person(session, "Ada", [Role.RESEARCHER], now_ms())
        at.session_state["session"] = sessions.open_session(session, ada, now_ms())
    return [title.value for title in at.run().switch_page("console/web/pages/seam.py").run().title]


def actors_of(app):
    """The Actors that the form of a new study offers, each with what is said of it."""
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(app, default_timeout=60)
    with writing() as session:
        ida = people.add_person(session, "Ida", [Role.RESEARCHER], now_ms())
        at.session_state["session"] = sessions.open_session(session, ida, now_ms())
    at = at.run()
    at.query_params["new"] = "1"
    at = at.switch_page("console/web/pages/studies.py").run()
    return next(box.options for box in at.selectbox if box.label == "Agent")


def columns_of(table):
    """The names of the columns that the database has."""
    with reading(database_url()) as session:
        return [row.name for row in session.connection().exec_driver_sql(f"PRAGMA table_info({table})")]


def main():
    """Meets everything."""
    os.chdir(settings().data_dir)
    Path("log.seam").write_text("SEAM\none\ntwo\n")
    Path("refused.seam").write_text("SEAM\nrefuse\n")
    Path("design.yaml").write_text(DESIGN)
    Path("actor.yaml").write_text(ACTOR_DESIGN)
    met = {name: run(command) for name, command in COMMANDS.items()}
    met["columns"] = columns_of("intent")
    met["setting"] = settings().seam_words
    met["file"] = Path("decisions.seam").read_text()
    met["html"] = Path("report/report.html").read_text()
    met["page"] = page_of(sys.argv[1])
    met["actors"] = actors_of(sys.argv[1])
    print(json.dumps(met))


if __name__ == "__main__":
    main()
