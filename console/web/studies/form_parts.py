"""Parts of the form of a study's design: who takes part, what they meet beside the items, and the tables of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from console.settings import LANGUAGES
from console.studies.design import FACTORS
from console.studies.design.asking import RULES
from console.studies.design.instruments import shelf
from console.studies.design.platforms import PLATFORMS
from console.studies.design.recruiting import Bonus
from console.web.studies.draft import key_of, start_at

Rows = list[dict[str, Any]]


def conditions(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Conditions spelt out; an empty cell is the factor's default level."""
    st.caption("A row for each condition. An empty cell stands for the factor's usual level.")
    columns: dict[str, Any] = {"name": st.column_config.TextColumn("name", required=True)}
    for factor in FACTORS.values():
        title = factor.name.replace("_", " ")
        columns[factor.name] = (
            st.column_config.SelectboxColumn(title, options=list(factor.levels), help=factor.title)
            if factor.levels
            else st.column_config.TextColumn(title, help=factor.title)
        )
    rows = _edited("conditions", [{"name": one["name"], **one["levels"]} for one in given], columns)
    return [{"name": row.pop("name", ""), "levels": row} for row in rows]


def questions(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Questions to each participant; the choices of a row stand one after the other with `|` between them."""
    st.caption("Questions, asked once. The choices of a question stand with | between them: never | weekly | daily")
    columns = {
        "key": st.column_config.TextColumn("column in the data", required=True),
        "question": st.column_config.TextColumn("question", required=True, width="large"),
        "kind": st.column_config.SelectboxColumn("answer", options=["choice", "number", "text"], default="choice"),
        "choices": st.column_config.TextColumn("choices"),
        "required": st.column_config.CheckboxColumn("required", default=False),
        "screens_out": st.column_config.TextColumn("choices that keep out"),
    }
    lists = ("choices", "screens_out")
    shown = [{**one, **{name: " | ".join(one.get(name, ())) for name in lists}} for one in given]
    rows = _edited("questions", shown, columns)
    return [_whole({**row, **{name: _choices(row.get(name, "")) for name in lists}}) for row in rows]


def noisy(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Simulated reviewers with their error rates and their pace."""
    number = st.column_config.NumberColumn
    columns = {
        "count": number("how many", min_value=0, step=1, default=1, required=True),
        "false_accept": number("misaligned that pass", min_value=0, max_value=1, step=0.01, default=0.1),
        "false_reject": number("aligned turned down", min_value=0, max_value=1, step=0.01, default=0.1),
        "seconds_per_item": number("seconds per item", min_value=0, step=1, default=30),
    }
    return [_whole(row) for row in _edited("noisy", given, columns)]


def _edited(field: str, given: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]) -> Rows:
    """The rows as they stand in the editor, without their empty cells and without empty rows."""
    key = key_of(field)
    begun = f"{key}-begun"
    # The editor keeps changes against the table that it began with, so that table must stay while it is shown.
    if key not in st.session_state or begun not in st.session_state:
        st.session_state[begun] = [dict(row) for row in given]
    frame = pd.DataFrame(st.session_state[begun], columns=list(columns), dtype=object)
    frame = frame.where(frame.notna(), None)
    shown = st.data_editor(frame, key=key, num_rows="dynamic", column_config=columns, hide_index=True)
    rows = [{str(name): cell for name, cell in row.items() if _filled(cell)} for row in shown.to_dict("records")]
    return [row for row in rows if row]


def _filled(cell: Any) -> bool:
    return cell is not None and cell != "" and not (isinstance(cell, float) and pd.isna(cell))


def _choices(text: str) -> list[str]:
    return [choice.strip() for choice in text.split("|") if choice.strip()]


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """The row, numbers that came back as floats made whole where the field is a count."""
    return {name: int(cell) if name == "count" else cell for name, cell in row.items()}


Draft = dict[str, Any]

_WITHDRAWALS = {"remove": "what they did is removed", "anonymise": "it stays under another pseudonym"}


def people(draft: Draft) -> Draft:
    """How many people and simulated reviewers."""
    st.header("Who takes part", anchor=False)
    given = draft["participants"]
    human, oracle, rules = st.columns(3)
    counts = {
        "human": human.number_input("People", 0, 1_000, key=start_at("human", given["human"])),
        "oracle": oracle.number_input(
            "Simulated: know the gold", 0, 1_000, key=start_at("oracle", given["oracle"]), help="Always right"
        ),
        "rules": rules.number_input(
            "Simulated: follow the rules", 0, 1_000, key=start_at("rules", given["rules"]), help="As the flag says"
        ),
    }
    with st.expander("Simulated reviewers who err", expanded=bool(given["noisy"])):
        return {"participants": {**counts, "noisy": noisy(given["noisy"])}}


def consent(draft: Draft) -> Draft:
    """What they agree to, and what they are asked once."""
    with st.expander("Consent and questions before the first item", expanded=False):
        given = draft["consent"]
        text = st.text_area(
            "Consent; headings (##), lists (-) and **bold** are drawn",
            key=start_at("consent", given["text"]),
            height=130,
            placeholder="Nobody asks",
        )
        withdrawal = st.selectbox(
            "Of those who withdraw",
            list(_WITHDRAWALS),
            format_func=_WITHDRAWALS.__getitem__,
            key=start_at("withdrawal", given["withdrawal"]),
        )
        asked = questions(draft["demographics"])
    return {"consent": {**given, "text": text, "withdrawal": withdrawal}, "demographics": asked}


def instructions(draft: Draft) -> Draft:
    """What they read and try before the first condition, and in which language the pages around it are."""
    with st.expander("Language, instructions and practice", expanded=False):
        language = st.selectbox(
            "Language of the pages around your own texts",
            [None, *LANGUAGES],
            format_func=lambda code: LANGUAGES[code] if code else "as each person's browser says",
            key=start_at("language", draft["language"]),
        )
        text = st.text_area(
            "Instructions, as plain text", key=start_at("instructions", draft["instructions"]), height=130
        )
        practice = st.number_input(
            "Practice items, their answers explained", 0, 100, key=start_at("practice", draft["practice"]), width=300
        )
    return {"language": language, "instructions": text, "practice": practice}


_CHECKS = {
    "attention": "Attention",
    "known_good": "Right, flagged",
    "known_bad": "Wrong, flagged",
    "unflagged_good": "Right, not flagged",
    "unflagged_bad": "Wrong, not flagged",
}

_MOMENTS = {"before": "Before the first condition", "between": "After each condition", "after": "After all of them"}


def asked(draft: Draft) -> Draft:
    """Questionnaires by moment, confidence and the interaction trace; what the form has no fields for stays."""
    own = [one["name"] for one in draft["instruments"]]
    with st.expander("Questionnaires, confidence and trace", expanded=False):
        given, known = draft["questionnaires"], list(dict.fromkeys([*shelf(), *own]))
        names = {
            moment: st.multiselect(title, known, key=start_at(f"asked-{moment}", list(given[moment])))
            for moment, title in _MOMENTS.items()
        }
        points = st.selectbox(
            "How sure, after each decision",
            (0, 3, 4, 5, 6, 7),
            format_func=lambda count: f"on {count} points" if count else "not asked",
            key=start_at("confidence", draft["confidence"]),
        )
        traced = st.checkbox(
            "Record steps opened, scrolls and keys (never text); the consent page says so",
            key=start_at("interaction-trace", draft["interaction_trace"]),
        )
        st.caption("Own questionnaires stand in the YAML.")
    kept = {"instruments": draft["instruments"]}
    return {"questionnaires": names, "confidence": points, "interaction_trace": traced, **kept}


def checks(draft: Draft) -> Draft:
    """Items with a known answer, breaks, and how long a decision can be taken back."""
    with st.expander("Checks, breaks and undo", expanded=False):
        st.caption("Items with a known answer that begin in every condition, by what the detector says of them:")
        counts: Draft = {
            name: column.number_input(title, 0, 1_000, key=start_at(f"checks-{name}", draft["checks"][name]))
            for column, (name, title) in zip(st.columns(len(_CHECKS)), _CHECKS.items(), strict=True)
        }
        counts["audited"] = st.number_input(
            "Share of the study's own unflagged actions that wait for review as well",
            0.0,
            1.0,
            step=0.05,
            key=start_at("checks-audited", draft["checks"]["audited"]),
            width=300,
        )
        rest, undo = st.columns(2)
        minutes = rest.number_input(
            "Break between conditions, minutes", 0.0, 1_440.0, step=0.5, key=start_at("break", draft["break_minutes"])
        )
        seconds = undo.number_input(
            "Undo for sure, seconds",
            0.0,
            600.0,
            step=1.0,
            key=start_at("undo", draft["undo_seconds"]),
        )
    return {"checks": counts, "break_minutes": minutes, "undo_seconds": seconds}


_LIMITS = {"failed_attention": 1, "known_right": 0.05, "median_seconds": 0.5, "decisions": 1}
"""The steps of the rules' limits."""


def ending(draft: Draft) -> Draft:
    """What people are asked and told at the very end, and whose data the analysis leaves out."""
    with st.expander("Debriefing and exclusion rules", expanded=False):
        told = {
            "question": st.text_input(
                "Last question, in words", key=start_at("debriefing", draft["debriefing"]["question"])
            ),
            "text": st.text_area(
                "What they read once they are done; headings, lists and bold words are drawn",
                key=start_at("debriefing-text", draft["debriefing"]["text"]),
            ),
        }
        st.caption("Whoever breaks one of these limits is left out of the analysis; an empty one leaves nobody out.")
        limits = {
            rule: column.number_input(
                RULES[rule].capitalize(),
                0 * step,
                None,
                None,
                key=start_at(f"exclusions-{rule}", draft["exclusions"][rule]),
                step=step,
            )
            for column, (rule, step) in zip(st.columns(len(_LIMITS)), _LIMITS.items(), strict=True)
        }
    return {"debriefing": told, "exclusions": limits}


_WAYS_BACK = {
    "completion_url": "Address for who finishes",
    "screen_out_url": "Address for whom an answer keeps out",
    "return_url": "Address for who declines or withdraws",
}


def recruiting(draft: Draft) -> Draft:
    """Where people come from, where each is led back to, and their bonus."""
    given = draft["recruiting"]
    with st.expander("Recruiting and bonus", expanded=False):
        platform = st.selectbox(
            "People come from",
            [None, *PLATFORMS],
            format_func=lambda name: PLATFORMS[name].title if name else "no platform",
            key=start_at("platform", given["platform"]),
        )
        invited = st.toggle("Only by links that open one place each", key=start_at("invited", given["by_invitation"]))
        addresses = {
            name: st.text_input(title, key=start_at(name, given[name]), placeholder="https://")
            for name, title in _WAYS_BACK.items()
        }
        hosts = st.text_input(
            "Further hosts that they may lead to, with | between them",
            key=start_at("hosts", " | ".join(given["hosts"])),
        )
        bonus = _bonus(given["bonus"] or {})
    found = {"platform": platform, "by_invitation": invited, **addresses, "hosts": _choices(hosts), "bonus": bonus}
    return {"recruiting": found}


def _bonus(given: Mapping[str, Any]) -> Draft | None:
    if not st.toggle("A bonus for right decisions", key=start_at("bonus", bool(given))):
        return None
    given = {**Bonus().model_dump(mode="json"), **given}
    currency, each, most = st.columns(3)
    return {
        "currency": currency.text_input("Currency", key=start_at("currency", given["currency"]), max_chars=3),
        "per_right": each.text_input("For each", key=start_at("per-right", str(given["per_right"]))),
        "most": most.text_input("At most", key=start_at("bonus-most", str(given["most"]))),
        "if_excluded": st.toggle(
            "Those whom a rule leaves out get it too", key=start_at("bonus-excluded", given["if_excluded"])
        ),
    }
