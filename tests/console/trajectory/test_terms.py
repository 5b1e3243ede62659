"""What an instruction states, and where a text speaks of it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.trajectory.terms import TermKind, lowered, mentions, occurrences, terms
from tests.sweeps import sweep


def stated(instruction):
    return [(term.text, term.kind, term.value) for term in terms(instruction)]


def only(instruction, kind):
    return [term.value for term in terms(instruction) if term.kind is kind]


def found(instruction, text):
    """The pieces of the text that speak of the first term of the instruction."""
    return [text[start:end] for start, end in occurrences(terms(instruction)[0], text)]


def test_a_hyphen_before_an_amount_belongs_to_neither():
    # As Hebrew writes "than 30.00".
    assert [term.text for term in terms("נמוך מ-30.00 דולר")][-2:] == ["30.00", "דולר"]
    assert [term.text for term in terms("a wi-fi 6e lamp")] == ["wi-fi", "6e", "lamp"]


def test_an_instruction_is_read_in_order_without_function_words():
    assert stated("i want white blackout shades, 66 x 66 inches, and price lower than 30.00 dollars") == [
        ("white", TermKind.ATTRIBUTE, "white"),
        ("blackout", TermKind.WORD, "blackout"),
        ("shades", TermKind.WORD, "shades"),
        ("66 x 66 inches", TermKind.SIZE, "66 x 66 inches"),
        ("price lower than 30.00 dollars", TermKind.PRICE_MAX, 30.0),
    ]


def test_a_number_is_not_found_within_another_one():
    assert found("24 is the count", "it costs 1.24, or 1,024, for 24") == ["24"]
    assert found("0 is the count", "(min 0.0, max 1.0)") == ["0.0"]


def test_a_function_word_is_no_part_of_an_attribute():
    assert [term.text for term in terms("at least 1.5 l and free delivery, fat free")][-3:] == [
        "free",
        "delivery",
        "fat free",
    ]


def test_the_place_of_a_picture_is_no_request():
    found = terms("Press the button. [image, 2.3 MB, png] Then stop.")
    assert [(one.text, one.start) for one in found] == [("Press", 0), ("button", 10), ("stop", 44)]


@pytest.mark.parametrize(
    ("instruction", "kind", "value"),
    [
        ("under $1,250.50", TermKind.PRICE_MAX, 1250.5),
        ("price is less than 40", TermKind.PRICE_MAX, 40.0),
        ("no more than 30 dollars", TermKind.PRICE_MAX, 30.0),
        ("at least 20 USD", TermKind.PRICE_MIN, 20.0),
        ("it costs €15", TermKind.PRICE, 15.0),
        ("on May 20", TermKind.DATE, "05-20"),
        ("on the 3rd of June, 2024", TermKind.DATE, "2024-06-03"),
        ("on 2024-05-20", TermKind.DATE, "2024-05-20"),
        ("order A-1056", TermKind.ID, "a-1056"),
        ("a pack of 6", TermKind.QUANTITY, 6.0),
        ("a six-pack", TermKind.QUANTITY, 6.0),
        ("60 capsules", TermKind.QUANTITY, 60.0),
        ("5.5 oz", TermKind.SIZE, "5.5 oz"),
        ('a 12" plate', TermKind.SIZE, '12"'),
        ("xx-large", TermKind.SIZE, "xx-large"),
        ("order #W6247578", TermKind.ID, "#w6247578"),
        ("user mia_li_3668", TermKind.ID, "mia_li_3668"),
        ("reservation JG7FMM", TermKind.ID, "jg7fmm"),
        ("mail ann@example.com", TermKind.ID, "ann@example.com"),
        ("without sugar", TermKind.NEGATION, "sugar"),
        ("sulfate-free", TermKind.ATTRIBUTE, "sulfate-free"),
        ("gluten free", TermKind.ATTRIBUTE, "gluten free"),
        ('called "the long road"', TermKind.NAME, "the long road"),
        ("who is Ada of Kent", TermKind.NAME, "ada of kent"),
        ("founded in 1966", TermKind.NUMBER, 1966.0),
    ],
)
def test_each_kind_of_statement_has_its_value(instruction, kind, value):
    assert only(instruction, kind) == [value]


@pytest.mark.parametrize(
    ("instruction", "text", "pieces"),
    [
        ("66 x 66 inches", '66x66, 66 x 66 in, 66"W x 66"H, 166x66', ["66x66", "66 x 66 in", '66"W x 66']),
        ("under $30", "$30, $30.00, 30 dollars, $300, 30 items", ["$30", "$30.00", "30 dollars"]),
        ("six pack", "6-pack, pack of 6, six pack, 16 pack", ["6-pack", "pack of 6", "six pack"]),
        ("May 20", "2024-05-20, May 20th, 20 May, 5/20", ["2024-05-20", "May 20th", "20 May", "5/20"]),
        ("clip-in", "Clip in and CLIP-IN, clips", ["Clip in", "CLIP-IN"]),
        ("shades", "a shade, Shades; shaded", ["shade", "Shades"]),
        ("berries", "a berry, berries", ["berry", "berries"]),
        ("grey", "Gray or GREY", ["Gray", "GREY"]),
        ("5.5 oz", "5.5-ounce, 5.5 fl oz, 15.5 oz", ["5.5-ounce", "5.5 fl oz"]),
        ("1,000", "1000 and 1,000 and 10000", ["1000", "1,000"]),
        ("#W62475", "order w62475", ["w62475"]),
    ],
)
def test_a_term_is_found_however_it_is_written(instruction, text, pieces):
    assert found(instruction, text) == pieces


def test_spans_stay_right_where_lower_case_is_longer():
    text = "İİ White shade"
    assert found("white", text) == ["White"]
    assert len(lowered(text)) == len(text)


@given(st.text(max_size=300))
def test_every_term_stands_where_it_says_and_is_found_there(instruction):
    last = 0
    for term in terms(instruction):
        assert instruction[term.start : term.end] == term.text
        assert term.start >= last
        last = term.end
        assert isinstance(mentions(term, lowered(instruction)), bool)


@given(
    st.lists(
        st.sampled_from(["kettle", "66 x 66 inches", "$30", "pack of 2", "May 3", "red", "Ann Lee", "x"]), min_size=1
    )
)
def test_a_text_made_of_the_instruction_mentions_all_its_terms(parts):
    instruction = ", ".join(parts)
    assert all(mentions(term, lowered(f"so: {instruction}.")) for term in terms(instruction))


HOSTILE = ["1", "a-", "$", "A ", "1 x ", '"', "_a", "1,111", "not ", "a@", "a.a@a.", "price less than ", "(", "\ud800"]


@sweep("piece", HOSTILE, kept=4)
def test_a_hostile_text_takes_time_in_proportion_to_its_length(piece):
    def seconds(length):
        text = (piece * length)[:length]
        start = time.process_time()
        for term in terms(text)[:3]:
            occurrences(term, text)
        return time.process_time() - start

    seconds(1_000)
    assert min(seconds(40_000) for _ in range(3)) < 40 * min(seconds(4_000) for _ in range(3)) + 0.05


@pytest.mark.parametrize(
    ("stated", "option"),
    [('a rug of 50"*40"', '50"*40"'), ('a rug of 50"*40"', "50 x 40 inch"), ("lip balm, .8 oz", "0.8 oz"),
     ("lip balm, 0.8 oz", ".8 oz"), ("a runner, size 8 foot", "8 ft")],
)  # fmt: skip
def test_sizes_of_a_shop_are_read_in_every_notation(stated, option):
    (size,) = [term for term in terms(stated) if term.kind is TermKind.SIZE]
    assert mentions(size, option)
    assert not mentions(size, "1" + option)
