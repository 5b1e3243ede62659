"""Edits and patches read as diffs of lines."""

from console.review.presentation import record_presentation
from console.trajectory import Step, Trajectory
from console.web.widgets.changes import arguments_with_changes, change_html, compare_lines
from console.web.widgets.pending_action import action_html
from console.web.widgets.timeline import timeline_rows

EDIT = 'Edit({"file_path":"a.py","old_string":"def f():\\n    return 1\\n","new_string":"def f():\\n    return 2\\n"})'


def rows(**arguments):
    return {name: html for name, html, _ in arguments_with_changes(arguments)}


def test_an_edit_is_one_row_with_its_lines_taken_out_and_put_in():
    drawn = action_html(EDIT, "")
    assert "old_string → new_string" in drawn
    assert '<div class="ia-kept">  def f():</div>' in drawn
    assert '<div class="ia-removed">−     return 1</div><div class="ia-added">+     return 2</div>' in drawn
    assert "\n" not in drawn


def test_a_patch_has_the_same_signs():
    (drawn,) = rows(input="*** Begin Patch\n*** Update File: a\n@@ f\n-one\n+two\n*** End Patch").values()
    assert '<div class="ia-removed">− one</div><div class="ia-added">+ two</div>' in drawn


def test_a_long_change_is_folded_behind_how_much_it_changes():
    (drawn,) = rows(old="a\n" * 9, new="b\n" * 9).values()
    assert '<summary data-note="show all 18 lines">9 lines removed, 9 lines added</summary>' in drawn


def test_whatever_is_no_edit_of_lines_stays_as_it_is():
    assert rows(old="a", new="b", command="ls") == {"old": "", "new": "", "command": ""}
    assert rows(old="a\n" * 20_000, new="b\n") == {"old": "", "new": ""}
    assert rows(search="x\ny", replace=3) == {"search": "", "replace": ""}


def test_nothing_of_the_text_becomes_markup_or_is_lost():
    (drawn,) = rows(old_str="<b>&\n", new_str="<script>\n").values()
    assert "<b>" not in drawn
    assert "<script>" not in drawn
    assert '<div class="ia-added">+ - item</div>' in rows(old="a\n", new="a\n- item")["old → new"]
    assert compare_lines("abc", "acd") == [("kept", "a"), ("removed", "b"), ("kept", "c"), ("added", "d")]


def test_a_step_of_the_record_reads_as_the_pending_action_does():
    record = Trajectory("t", "generic", "do", (Step("", EDIT, "ok"),))
    (row,) = timeline_rows(record_presentation(record, ["nothing"]))
    assert "old_string → new_string" in row


def test_few_kept_words_show_the_whole_old_and_new_text_and_a_small_change_its_words():
    drawn = change_html("click[Buy Now]", "click[Back to Search]")
    assert "<del>click[Buy Now]</del><br><ins>click[Back to Search]</ins>" in drawn
    small = change_html("Send 45 euro to Ann on Monday.", "Send 20 euro to Ann on Friday.")
    assert "Send <del>45</del><ins>20</ins> euro to Ann on <del>Monday.</del><ins>Friday.</ins>" in small
