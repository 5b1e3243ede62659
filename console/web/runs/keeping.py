"""The Runs page's forms that keep house: name and tags, archive, delete, and the imports that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from console import runs
from console.database import database_url, now_ms, reading, writing
from console.errors import BadInput
from console.language import counted
from console.runs import housekeeping
from console.web.flash import flash, guarded
from console.web.run_picker import choose_run
from storage import tables
from storage.engine import overwrite_freed


def keeping_forms(run: tables.Run) -> None:
    """All forms about the run itself, what cannot be undone last."""
    with reading() as session:
        imports, held = housekeeping.imports(session, run), housekeeping.holdings(session, run)
    _name_and_tags(run)
    if imports:
        _imports(imports)
    archived = run.archived_ms is not None
    if st.button("Bring back into the lists" if archived else "Archive this run", key="archive_run"):
        guarded(_archive, run.name, not archived)
    _delete(run, held)


def _name_and_tags(run: tables.Run) -> None:
    with st.form("keeping", border=False):
        left, right = st.columns(2)
        name = left.text_input("Name", run.name, key=f"rename-{run.id}", max_chars=80)
        words = right.text_input("Tags, with blanks between", " ".join(housekeeping.tags(run)), key=f"tags-{run.id}")
        sent = st.form_submit_button("Save name and tags")
    if sent:
        guarded(_save, run.name, name.strip(), words.split())


def _save(run_name: str, name: str, words: Sequence[str]) -> None:
    with writing() as session:
        run = runs.get(session, run_name)
        housekeeping.tag(session, run, words, set(housekeeping.tags(run)) - set(words), now_ms())
        if name != run_name:
            housekeeping.rename(session, run, name, now_ms())
    choose_run(name)
    flash((True, "Saved."))
    st.rerun()


def _imports(imports: Sequence[dict[str, Any]]) -> None:
    st.caption("Imports. One that nobody has reviewed anything of can be undone.")
    st.dataframe(imports, key="imports", hide_index=True)
    open_ones = {f"{one['file']} (import {one['import_id']})": one["import_id"] for one in imports if not one["undone"]}
    if not open_ones:
        return
    which, press = st.columns([3, 1], vertical_alignment="bottom")
    chosen = which.selectbox("Import", list(open_ones), key="import_to_undo")
    if press.button("Undo this import", key="undo_import"):
        guarded(_undo, open_ones[chosen])


def _undo(import_id: int) -> None:
    with writing() as session:
        run, gone = housekeeping.undo_import(session, import_id, now_ms())
    flash((True, f"Deleted {counted(gone, 'trajectory')} of {run.name}."))
    st.rerun()


def _archive(run_name: str, archived: bool) -> None:
    with writing() as session:
        housekeeping.set_archived(session, runs.get(session, run_name), archived, now_ms())
    flash((True, f"{run_name} is archived." if archived else f"{run_name} is back in the lists."))
    st.rerun()


def _delete(run: tables.Run, held: dict[str, int]) -> None:
    what = ", ".join(f"{count} {name}" for name, count in held.items())
    with st.form("delete", border=False):
        st.caption(f"Deleting takes {what} and the content of the run's events away for good.")
        typed = st.text_input("The run's name, to delete it", key=f"delete-{run.id}", width=360)
        sent = st.form_submit_button("Delete this run")
    if sent:
        guarded(_remove, run.name, typed.strip())


def _remove(run_name: str, typed: str) -> None:
    if typed != run_name:
        raise BadInput("Type the run's name exactly to delete it.")
    with writing() as session:
        housekeeping.remove(session, runs.get(session, run_name), now_ms())
    overwrite_freed(database_url())
    st.session_state.pop("run", None)
    st.query_params.pop("run", None)
    flash((True, f"Deleted {run_name}."))
    st.rerun()
