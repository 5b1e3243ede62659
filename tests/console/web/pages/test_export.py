"""The Export page: a sentence for each kind, a file for each format."""

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


def test_without_a_run_it_says_what_to_do(open_page, words):
    assert "Nothing to export yet" in words(open_page("export"))
