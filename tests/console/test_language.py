"""Every text that reviewers and participants see is in the catalogue, and each language has all of them."""

import re
import threading
import time
from gettext import GNUTranslations
from string import Formatter

import pytest

from console import language
from console.language import WERE, _, chosen_language, counted, list_counts, quoted, speaking
from console.settings import LANGUAGES, settings
from tests import catalogue


def _fields(text):
    return sorted(name for _before, name, *_rest in Formatter().parse(text) if name is not None)


def _both(text):
    return list(text) if isinstance(text, (list, tuple)) else [text]


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_a_language_has_every_text_with_the_same_fields(code):
    kept = catalogue.read(catalogue.catalogues()[code])
    wanted = {message.id for message in catalogue.extracted() if message.id}
    has = {message.id for message in kept if message.id}
    assert {"not in the catalogue": wanted - has, "said nowhere": has - wanted} == {
        "not in the catalogue": set(),
        "said nowhere": set(),
    }, "run: python -m tests.catalogue"
    for message in kept:
        if message.id:
            said = _both(message.string)
            assert all(said), f"not translated: {message.id}"
            assert not message.fuzzy, f"fuzzy: {message.id}"
            fields = [_fields(text) for text in _both(message.id)]
            assert all(_fields(text) in fields for text in said), message.id


MARKS, OF_CODE = re.compile('[„“”‟«»‹›"]'), re.compile(r"\[.*?\]|{{.*?}}")


@pytest.mark.parametrize(("code", "pair"), [("en", "“”"), ("de", "„“")])
def test_a_language_has_one_pair_of_quotation_marks(code, pair):
    kept = list(catalogue.read(catalogue.catalogues()["de"]))
    texts = [text for message in kept if message.id for text in _both(message.id if code == "en" else message.string)]
    marks = {text: "".join(MARKS.findall(OF_CODE.sub("", text))) for text in texts}
    assert {text for text, found in marks.items() if found != pair * (len(found) // 2)} == set()
    with speaking(code):
        assert quoted("S") == f"{pair[0]}S{pair[1]}"


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_what_is_read_at_run_time_is_what_stands_beside_the_code(code):
    path = catalogue.catalogues()[code]
    with path.with_suffix(".mo").open("rb") as file:
        read = GNUTranslations(file)
    for message in catalogue.read(path):
        if isinstance(message.id, str) and message.id:
            assert read.gettext(message.id) == message.string, "run: python -m tests.catalogue"
        elif message.id:
            assert [read.ngettext(*message.id, number) for number in (1, 2)] == list(message.string)


def test_english_is_read_where_nobody_chose():
    assert _("Sign out") == "Sign out"
    with speaking("de"):
        assert (_("Sign out"), language.language()) == ("Abmelden", "de")
    assert (_("Sign out"), language.language()) == ("Sign out", "en")


@pytest.mark.parametrize(
    ("accepted", "chosen", "expected"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", None, "de"),
        ("en;q=0.3, de;q=0.7", None, "de"),
        ("fr, en;q=0.5, de;q=0.1", None, "en"),
        ("fr,ja", None, "en"),
        (None, None, "en"),
        ("de", "en", "en"),
        ("de", "xx; drop", "de"),
        ("de;q=nothing, en;q=0.1", None, "de"),
        (",;q=,", None, "en"),
    ],
)
def test_a_choice_comes_before_what_the_browser_accepts(accepted, chosen, expected):
    assert chosen_language(chosen, accepted) == expected


def test_the_setting_comes_before_all(monkeypatch):
    monkeypatch.setenv("INFERACT_LANGUAGE", "de")
    settings.cache_clear()
    try:
        assert chosen_language("en", "en") == "de"
    finally:
        settings.cache_clear()
    monkeypatch.setenv("INFERACT_LANGUAGE", "tlh")
    with pytest.raises(ValueError, match="Choose one of en, de"):
        settings()


def test_each_thread_reads_its_own_language():
    read = {}

    def visit(code):
        with speaking(code):
            for _turn in range(200):
                read.setdefault(code, set()).add(_("Sign out"))

    threads = [threading.Thread(target=visit, args=(code,)) for code in ("de", "en") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == {"de": {"Abmelden"}, "en": {"Sign out"}}


def test_a_text_is_looked_up_in_under_two_microseconds():
    with speaking("de"):
        times = []
        for _round in range(5):
            start = time.perf_counter()
            for _turn in range(2_000):
                _("Sign out")
            times.append((time.perf_counter() - start) / 2_000)
    print(f"{min(times) * 1e6:.2f} microseconds a text")
    assert min(times) < 2e-6


def test_a_count_has_its_noun_its_verb_and_its_separators():
    assert counted(1, "person", WERE) == "1 person was"
    assert counted(2_000, "person", WERE) == "2,000 people were"
    assert list_counts({"trajectories": 1, "items": 1_234, "links of the audit log": 1}) == (
        "1 trajectory, 1,234 items, 1 link of the audit log"
    )
