"""The Export page: a sentence for each kind, a file for each format."""

import pytest

from console import runs
from console.auth.audit_log import By, Door, acting
from console.runs import export


def test_every_kind_has_its_sentence_and_every_format_its_file(open_page, words, kettles):
    at = open_page("export")
    captions = set()
    for kind in export.KINDS:
        at.selectbox(key="export_kind").set_value(kind).run()
        captions.add(at.caption[0].value)
        assert at.caption[0].value.endswith(".")
    assert len(captions) == len(export.KINDS)
    for suffix in export.FORMATS:
        at.selectbox(key="export_format").set_value(suffix).run()
        assert at.get("download_button")


def test_a_case_file_is_offered_and_says_what_it_is_for(open_page, words, kettles):
    at = open_page("export")
    at.selectbox(key="export_kind").set_value("case file").run()
    assert at.caption[0].value.startswith("One HTML page for an auditor")
    assert [button.label for button in at.get("download_button")] == ["Download file", "Download audit log"]


@pytest.mark.at_length
def test_a_layout_of_another_tool_names_what_is_left_out(open_page, words, kettles):
    at = open_page("export")
    for name, layout in export.LAYOUTS.items():
        at.selectbox(key="export_kind").set_value(name).run()
        assert at.caption[0].value == f"{layout.title}, a .{layout.suffix} file."
        assert {box.label for box in at.checkbox} >= {f"Include {export.ASKED_FOR[part]}" for part in layout.takes}
        assert at.get("download_button") or "is not installed" in words(at)


def test_without_a_run_it_says_what_to_do(open_page, words):
    assert "Nothing to export yet" in words(open_page("export"))


def test_the_audit_is_read_as_sentences_and_chosen_by_who(open_page, words, kettles):
    with acting(By("Ada", Door.BROWSER)):
        runs.set_budget(kettles, "9")
    at = open_page("export")
    assert "Ada set the budget of “kettles” from 3 to 9, in the browser." in words(at)
    at.selectbox(key="audit_who").set_value("console").run()
    assert "Ada set" not in words(at)
    at.selectbox(key="audit_kind").set_value("budget set").run()
    assert "console set the budget of “kettles” from no cap to 3." in words(at)
    at.selectbox(key="audit_who").set_value("Ada").run()
    at.selectbox(key="audit_kind").set_value("imported").run()
    assert "No matching events" in words(at)


def test_the_audit_of_an_empty_console_says_so(open_page, words):
    assert "No events yet" in words(open_page("export"))


@pytest.mark.at_length
def test_a_form_of_a_page_is_recorded_under_whoever_is_signed_in(open_page, words, kettles):
    at = open_page("runs")
    at.text_input(key="budget").set_value("4")
    next(button for button in at.button if button.label == "Save budget").click().run()
    assert "Ada set the budget of “kettles” from 3 to 4, in the browser." in words(open_page("export"))


def test_an_audit_log_that_is_not_shown_whole_says_how_much_is_shown(open_page, words, kettles):
    assert "events. The download has all of them." not in words(open_page("export"))
    for cap in range(10, 70):
        runs.set_budget(kettles, str(cap))
    at = open_page("export")
    at.selectbox(key="audit_kind").set_value("budget set").run()
    assert "The latest 50 of 61 events. The download has all of them." in words(at)
