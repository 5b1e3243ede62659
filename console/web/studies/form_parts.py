"""Parts of the form of a study's design: participants, texts, checks, and tables of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from console.settings import LANGUAGES
from console.studies.design import FACTORS
from console.studies.design.instruments import shelf
from console.studies.design.part import PILOT_LIMITS, RULES
from console.studies.design.platforms import PLATFORMS
from console.studies.design.recruiting import Bonus
from console.trajectory.strict_yaml import read_data
from console.web.studies.draft import key_of, start_at
from console.web.widgets.tables import capitalize

WORDS = read_data(files(__package__) / "words.yaml", dict[str, dict[str, str]])
"""The words for the stored values of a design."""

Rows = list[dict[str, Any]]
Titles = dict[Any, str]


def name_level(level: str) -> str:
    """Return the words for a factor's level."""
    return WORDS["levels"].get(level, level)


def conditions(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Draw the table of conditions; an empty cell stands for the factor's default level."""
    st.caption("One row per condition. An empty cell means the factor's default level.")
    columns: dict[str, Any] = {"name": st.column_config.TextColumn("Name", required=True)}
    for factor in FACTORS.values():
        title = capitalize(factor.name.replace("_", " "))
        columns[factor.name] = (
            st.column_config.SelectboxColumn(title, options=list(factor.levels), help=factor.title)
            if factor.levels
            else st.column_config.TextColumn(title, help=factor.title)
        )
    rows = _read_rows("conditions", [{"name": one["name"], **one["levels"]} for one in given], columns)
    return [{"name": row.pop("name", ""), "levels": row} for row in rows]


def questions(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Draw the table of questions; `|` separates the choices of a question."""
    st.caption("Each question is asked once. Separate its choices with |, for example: never | weekly | daily")
    columns = {
        "key": st.column_config.TextColumn("Data column", required=True),
        "question": st.column_config.TextColumn("Question", required=True, width="large"),
        "kind": st.column_config.SelectboxColumn("Answer", options=["choice", "number", "text"], default="choice"),
        "choices": st.column_config.TextColumn("Choices"),
        "required": st.column_config.CheckboxColumn("Required", default=False),
        "screens_out": st.column_config.TextColumn("Choices that screen out"),
        "quotas": st.column_config.TextColumn("Quotas", help="The most people with a choice: daily: 10 | weekly: 5"),
    }
    lists = ("choices", "screens_out")
    shown = [
        {**one, **{name: " | ".join(one.get(name, ())) for name in lists}}
        | {"quotas": " | ".join(f"{choice}: {most}" for choice, most in one.get("quotas", {}).items())}
        for one in given
    ]
    rows = _read_rows("questions", shown, columns)
    return [
        _whole({**row, **{name: _choices(row.get(name, "")) for name in lists}, "quotas": _quotas(row)}) for row in rows
    ]


def _quotas(row: Mapping[str, Any]) -> dict[str, str]:
    parts = [part.rpartition(":") for part in _choices(row.get("quotas", ""))]
    return {(choice or most).strip(): most.strip() for choice, _, most in parts}


def quiz(draft: Draft) -> Draft:
    """Draw the table of the quiz on the instructions, and the number of tries."""
    given = draft["quiz"]
    st.caption("Quiz on the instructions: people with a wrong answer after the last try do not take part.")
    columns = {
        "key": st.column_config.TextColumn("Data column", required=True),
        "question": st.column_config.TextColumn("Question", required=True, width="large"),
        "choices": st.column_config.TextColumn("Choices"),
        "right": st.column_config.TextColumn("Correct choice"),
    }
    shown = [{**one, "choices": " | ".join(one["choices"])} for one in given["questions"]]
    rows = [{**row, "choices": _choices(row.get("choices", ""))} for row in _read_rows("quiz", shown, columns)]
    tries = st.number_input("Tries", 1, 10, key=start_at("quiz-tries", given["tries"]), width=300)
    return {"questions": rows, "tries": tries}


def noisy(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Draw the table of simulated reviewers with error rates and times."""
    number = st.column_config.NumberColumn
    columns = {
        "count": number("Count", min_value=0, step=1, default=1, required=True),
        "false_accept": number("False accept rate", min_value=0, max_value=1, step=0.01, default=0.1),
        "false_reject": number("False reject rate", min_value=0, max_value=1, step=0.01, default=0.1),
        "seconds_per_item": number("Seconds per item", min_value=0, step=1, default=30),
    }
    return [_whole(row) for row in _read_rows("noisy", given, columns)]


def _read_rows(field: str, given: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]) -> Rows:
    """Return the rows of the editor without empty cells and empty rows."""
    key = key_of(field)
    begun = f"{key}-begun"
    # The editor stores changes relative to its first table, so keep that table while the editor is shown.
    if key not in st.session_state or begun not in st.session_state:
        st.session_state[begun] = [dict(row) for row in given]
    frame = pd.DataFrame(st.session_state[begun], columns=list(columns), dtype=object)
    frame = frame.where(frame.notna(), None)
    shown = st.data_editor(
        frame, key=key, num_rows="dynamic", column_config=columns, hide_index=True, alt=capitalize(field)
    )
    rows = [
        {str(name): cell for name, cell in row.items() if cell != "" and not pd.isna(cell)}
        for row in shown.to_dict("records")
    ]
    return [row for row in rows if row]


def _choices(text: str) -> list[str]:
    return [choice.strip() for choice in text.split("|") if choice.strip()]


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with its count as an integer."""
    return {name: int(cell) if name == "count" else cell for name, cell in row.items()}


Draft = dict[str, Any]


def people(draft: Draft) -> Draft:
    """Draw the fields for the numbers of people and simulated reviewers."""
    st.header("Participants", anchor=False)
    given = draft["participants"]
    human, oracle, rules = st.columns(3)
    counts = {
        "human": human.number_input("People", 0, 1_000, key=start_at("human", given["human"])),
        "oracle": oracle.number_input(
            "Simulated: gold labels", 0, 1_000, key=start_at("oracle", given["oracle"]), help="Always decide correctly"
        ),
        "rules": rules.number_input(
            "Simulated: follow the flag",
            0,
            1_000,
            key=start_at("rules", given["rules"]),
            help="Reject every flagged action",
        ),
    }
    with st.expander("Simulated reviewers with errors", expanded=bool(given["noisy"])):
        reviewers = {**counts, "noisy": noisy(given["noisy"])}
    return {"participants": reviewers, "pilot": pilot(draft["pilot"])}


_STOPS = {"withdrawn": 0.05, "failed_quiz": 0.05, "failed_attention": 0.05, "minutes": 5.0}
"""The step of each limit of a pilot in the form."""


def pilot(given: Draft) -> Draft:
    """Draw the fields for the number of people in the pilot and its stop rule."""
    with st.expander("Pilot", expanded=bool(given["people"])):
        st.caption("Others join after these people have finished. The analysis leaves the pilot out.")
        count = st.number_input("People in the pilot", 0, 999, key=start_at("pilot", given["people"]), width=300)
        st.caption("No others join if the pilot exceeds a limit. An empty limit does not apply.")
        limits = {
            name: measure(column, PILOT_LIMITS[name].capitalize(), None, f"pilot-{name}", stated, step, value=None)
            for column, (name, step) in zip(
                st.columns(len(_STOPS), vertical_alignment="bottom"), _STOPS.items(), strict=True
            )
            for stated in [given["stop_above"][name]]
        }
    return {"people": count, "stop_above": limits}


def choose(place: DeltaGenerator, label: str, titles: Mapping[Any, str], field: str, value: Any) -> Any:
    """Draw a list of choices by their titles and return the selected choice."""
    named, key = titles.__getitem__, start_at(field, value)
    # Streamlit shows None as no choice, so the placeholder names what None stands for.
    return place.selectbox(label, list(titles), format_func=named, key=key, placeholder=titles.get(None))


def measure(place: Any, label: str, most: float | None, field: str, stated: Any, step: float, **look: Any) -> Any:
    """Draw a field for a number of at least 0, without trailing zeros, and return the number."""
    form = "%g" if isinstance(step, float) else None
    return place.number_input(label, 0 * step, most, key=start_at(field, stated), step=step, format=form, **look)


def consent(draft: Draft) -> Draft:
    """Draw the fields for the consent and for the questions before the first item."""
    with st.expander("Consent and questions before the first item", expanded=False) as place:
        given = draft["consent"]
        text = st.text_area(
            "Consent (headings ##, lists - and **bold** work)",
            key=start_at("consent", given["text"]),
            height=130,
            placeholder="No consent page",
        )
        withdrawal = choose(
            place, "When a participant withdraws", WORDS["withdrawals"], "withdrawal", given["withdrawal"]
        )
        asked = questions(draft["demographics"])
    return {"consent": {**given, "text": text, "withdrawal": withdrawal}, "demographics": asked}


def instructions(draft: Draft) -> Draft:
    """Draw the fields for the language, the instructions and the number of practice items."""
    with st.expander("Language, instructions, quiz and practice", expanded=False) as place:
        languages: Titles = {None: "language of each person's browser", **LANGUAGES}
        language = choose(place, "Language of the console's own texts", languages, "language", draft["language"])
        text = st.text_area(
            "Instructions (plain text)", key=start_at("instructions", draft["instructions"]), height=130
        )
        tested = quiz(draft)
        practice = st.number_input(
            "Practice items with explanations", 0, 100, key=start_at("practice", draft["practice"]), width=300
        )
    return {"language": language, "instructions": text, "quiz": tested, "practice": practice}


def measures(draft: Draft) -> Draft:
    """Draw the fields for questionnaires, confidence and trace; keep the instruments defined in the YAML."""
    own = [one["name"] for one in draft["instruments"]]
    with st.expander("Questionnaires, confidence and trace", expanded=False) as place:
        given, known = draft["questionnaires"], list(dict.fromkeys([*shelf(), *own]))
        names = {
            moment: st.multiselect(title, known, key=start_at(f"asked-{moment}", list(given[moment])))
            for moment, title in WORDS["moments"].items()
        }
        scales = {0: "not asked", **{count: f"{count} points" for count in range(3, 8)}}
        points = choose(place, "Confidence after each decision", scales, "confidence", draft["confidence"])
        traced = st.checkbox(
            "Record opened steps, scrolling and keys (never text)",
            key=start_at("interaction-trace", draft["interaction_trace"]),
        )
        st.caption("Define your own questionnaires in the YAML.")
    kept = {"instruments": draft["instruments"]}
    return {"questionnaires": names, "confidence": points, "interaction_trace": traced, **kept}


def checks(draft: Draft) -> Draft:
    """Draw the fields for items with a known answer, breaks, and the time to undo a decision."""
    with st.expander("Checks, breaks and undo", expanded=False):
        st.caption("Items with a known answer in every condition, by label and flag:")
        counts: Draft = {
            name: column.number_input(title, 0, 1_000, key=start_at(f"checks-{name}", draft["checks"][name]))
            for column, (name, title) in zip(
                st.columns(len(WORDS["checks"]), vertical_alignment="bottom"), WORDS["checks"].items(), strict=True
            )
        }
        share, audited = "Share of unflagged actions to review", draft["checks"]["audited"]
        counts["audited"] = measure(st, share, 1.0, "checks-audited", audited, 0.05, width=300)
        rest, undo = st.columns(2)
        minutes = measure(rest, "Break between conditions (minutes)", 1_440.0, "break", draft["break_minutes"], 0.5)
        seconds = measure(undo, "Time to undo (seconds)", 600.0, "undo", draft["undo_seconds"], 1.0)
    return {"checks": counts, "break_minutes": minutes, "undo_seconds": seconds}


_LIMITS = {"failed_attention": 1, "known_right": 0.05, "median_seconds": 0.5, "decisions": 1}
"""The step of each limit in the form."""


def ending(draft: Draft) -> Draft:
    """Draw the fields for the debriefing and the exclusion rules."""
    with st.expander("Debriefing and exclusion rules", expanded=False):
        told = {
            "question": st.text_input(
                "Last question (free text)", key=start_at("debriefing", draft["debriefing"]["question"])
            ),
            "text": st.text_area(
                "Debriefing (headings ##, lists - and **bold** work)",
                key=start_at("debriefing-text", draft["debriefing"]["text"]),
            ),
        }
        st.caption("The analysis excludes participants beyond a limit. An empty limit excludes no one.")
        limits = {
            rule: measure(column, RULES[rule].capitalize(), None, f"exclusions-{rule}", stated, step, value=None)
            for column, (rule, step) in zip(
                st.columns(len(_LIMITS), vertical_alignment="bottom"), _LIMITS.items(), strict=True
            )
            for stated in [draft["exclusions"][rule]]
        }
    return {"debriefing": told, "exclusions": limits}


def recruiting(draft: Draft) -> Draft:
    """Draw the fields for the recruiting platform, the return addresses and the bonus."""
    given = draft["recruiting"]
    with st.expander("Recruiting and bonus", expanded=False) as place:
        titles: Titles = {None: "no platform", **{name: one.title for name, one in PLATFORMS.items()}}
        platform = choose(place, "Recruiting platform", titles, "platform", given["platform"])
        invited = st.toggle("Join by invitation link only", key=start_at("invited", given["by_invitation"]))
        addresses = {
            name: st.text_input(title, key=start_at(name, given[name]), placeholder="https://")
            for name, title in WORDS["ways back"].items()
        }
        code = st.text_input("Screen-out code", key=start_at("screen_out_code", given["screen_out_code"]), max_chars=40)
        hosts = st.text_input("Other allowed hosts, separated by |", key=start_at("hosts", " | ".join(given["hosts"])))
        bonus = _bonus(given["bonus"] or {})
    found = {"platform": platform, "by_invitation": invited, **addresses, "screen_out_code": code}
    found |= {"hosts": _choices(hosts), "bonus": bonus}
    return {"recruiting": found}


def _bonus(given: Mapping[str, Any]) -> Draft | None:
    if not st.toggle("Bonus for correct decisions", key=start_at("bonus", bool(given))):
        return None
    given = {**Bonus().model_dump(mode="json"), **given}
    currency, each, most = st.columns(3)
    return {
        "currency": currency.text_input("Currency", key=start_at("currency", given["currency"]), max_chars=3),
        "per_right": each.text_input("Per decision", key=start_at("per-right", str(given["per_right"]))),
        "most": most.text_input("Maximum", key=start_at("bonus-most", str(given["most"]))),
        "if_excluded": st.toggle("Pay excluded participants too", key=start_at("bonus-excluded", given["if_excluded"])),
    }
