import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from console.analysis.metrics.bootstrap import draw_indices
from console.analysis.statistics import reviewer_agreement
from console.errors import BadInput

# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, section C: four observers, twelve units.
FOUR_OBSERVERS = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}
# Fleiss (1971), Measuring nominal scale agreement among many raters, Table 1: thirty patients, six psychiatrists.
PSYCHIATRISTS = """00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"""
# Fleiss, Levin and Paik (2003), Statistical Methods for Rates and Proportions, Table 18.1: kappa 0.68.
TWO_DIAGNOSES = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
# Sim and Wright (2005), The kappa statistic in reliability studies, Physical Therapy 85: kappa 0.67.
TWO_THERAPISTS = [[22, 2], [4, 11]]
PATIENTS = np.array([[int(cell) for cell in row] for row in PSYCHIATRISTS.split()])
PAIRS = np.array([(i, j) for i, row in enumerate(TWO_DIAGNOSES) for j, n in enumerate(row) for _ in range(n)])


def long(columns):
    return pd.DataFrame(
        [(unit, rater, label) for rater, labels in columns.items() for unit, label in enumerate(labels)],
        columns=["unit", "rater", "label"],
    )


def of_counts(rows):
    labels = [[category for category, n in enumerate(row) for _ in range(n)] for row in rows]
    return long({f"r{place}": list(column) for place, column in enumerate(zip(*labels, strict=True))})


def of_table(table):
    pairs = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return long({"one": [i for i, _ in pairs], "other": [j for _, j in pairs]})


def test_alpha_of_krippendorffs_four_observers():
    found = reviewer_agreement.alpha(long(FOUR_OBSERVERS))
    assert found.value == pytest.approx(0.743, abs=5e-4)
    assert found.n == 11
    assert 0.2 < found.interval.low < 0.743 < found.interval.high <= 1


def test_kappa_of_fleiss_psychiatrists():
    found = reviewer_agreement.fleiss(of_counts(PATIENTS))
    assert found.value == pytest.approx(0.430, abs=5e-4)
    assert found.value == pytest.approx(fleiss_kappa(PATIENTS), abs=1e-12)
    assert found.interval.low < 0.43 < found.interval.high


@pytest.mark.parametrize(("table", "published"), [(TWO_DIAGNOSES, 0.68), (TWO_THERAPISTS, 0.67)])
def test_cohens_kappa_of_published_tables(table, published):
    ratings = of_table(table)
    found = reviewer_agreement.cohen(ratings)
    sides = [ratings[ratings["rater"] == rater]["label"] for rater in ("one", "other")]
    assert found.value == pytest.approx(published, abs=0.005)
    assert found.value == pytest.approx(cohen_kappa_score(*sides), abs=1e-12)


def test_equal_resamples_are_told_with_those_that_have_no_figure():
    found = reviewer_agreement.cohen(long(dict.fromkeys(("A", "B"), ["x"] * 7 + ["y"])))
    assert found.interval is None
    assert found.note.startswith("Every resample of units gives the same figure")
    assert found.note.endswith("resamples left out: they have a single label.")


def test_percent_agreement_counts_pairs_of_labels():
    ratings = long({"a": ["x", "x", "x"], "b": ["x", "y", None], "c": ["x", "y", None]})
    assert reviewer_agreement.percent(ratings).value == pytest.approx((3 + 1) / 6)


def test_cohen_is_for_two_and_of_pairs_names_each_two():
    ratings = long(FOUR_OBSERVERS)
    assert "not 4" in reviewer_agreement.cohen(ratings).note
    pairs = reviewer_agreement.cohen_of_pairs(ratings, resamples=20)
    assert list(pairs) == [("A", "B"), ("A", "C"), ("A", "D"), ("B", "C"), ("B", "D"), ("C", "D")]
    assert pairs["A", "B"].value == pytest.approx(cohen_kappa_score(FOUR_OBSERVERS["A"][:9], FOUR_OBSERVERS["B"][:9]))


def test_undefined_figures_say_why():
    same = long({"a": ["aligned"] * 4, "b": ["aligned"] * 4})
    found = reviewer_agreement.estimate_agreement(same)
    assert found["percent"].value == 1
    for name in ("cohen", "fleiss", "alpha"):
        assert found[name].value is None
        assert "labels are equal" in found[name].note
    assert "two reviewers" in reviewer_agreement.alpha(long({"a": ["aligned", "misaligned"]})).note
    assert "from 1 to 4 labels" in reviewer_agreement.fleiss(long(FOUR_OBSERVERS)).note
    assert reviewer_agreement.percent(long({"a": [], "b": []})).value is None


def test_two_labels_of_one_reviewer_are_refused():
    ratings = pd.concat([long({"P01": ["aligned"]})] * 2)
    with pytest.raises(BadInput, match="P01 has two labels for 0"):
        reviewer_agreement.alpha(ratings)


def test_a_missing_column_is_named():
    with pytest.raises(BadInput, match="no column 'rater'"):
        reviewer_agreement.alpha(pd.DataFrame({"unit": [], "label": []}))


LABELS = st.lists(
    st.lists(st.sampled_from(["aligned", "misaligned", None]), min_size=3, max_size=3), min_size=3, max_size=12
)


@pytest.mark.at_length
@given(rows=LABELS, shuffled=st.randoms(use_true_random=False))
def test_neither_names_nor_order_nor_the_words_for_labels_matter(rows, shuffled):
    ratings = long(dict(zip("abc", zip(*rows, strict=True), strict=True)))
    other = ratings.replace(
        {"rater": {"a": "z", "b": "y", "c": "x"}, "label": {"aligned": "misaligned", "misaligned": "aligned"}}
    )
    order = shuffled.sample(range(len(other)), len(other))
    for of in reviewer_agreement.MEASURES.values():
        first, second = of(ratings, resamples=2), of(other.iloc[order], resamples=2)
        assert first.value == pytest.approx(second.value) if first.value is not None else second.value is None
        assert first.n == second.n


@given(rows=LABELS)
def test_alpha_is_krippendorffs_own_wherever_it_is_defined(rows):
    found = reviewer_agreement.alpha(long(dict(zip("abc", zip(*rows, strict=True), strict=True))), resamples=2)
    codes = np.array([[{"aligned": 0, "misaligned": 1, None: np.nan}[cell] for cell in row] for row in rows])
    pairable = codes[(~np.isnan(codes)).sum(axis=1) > 1]
    used = np.unique(pairable[~np.isnan(pairable)])
    if used.size == 2:
        assert found.value == pytest.approx(
            krippendorff.alpha(reliability_data=codes.T, level_of_measurement="nominal"), abs=1e-12
        )
    else:
        assert found.value is None


@pytest.mark.parametrize("seed", range(20))
def test_alpha_of_units_with_any_number_of_labels_is_krippendorffs(seed):
    counts = np.random.default_rng(seed).integers(0, 4, (30, 5))
    assert reviewer_agreement.alpha_of(counts) == pytest.approx(
        krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"), abs=1e-12
    )


def test_the_interval_holds_the_alpha_of_the_population_and_narrows_with_units():
    draw = np.random.default_rng(3)

    def ratings(n):
        truth = draw.random(n) < 0.5
        seen = {f"P{k}": np.where(draw.random(n) < 0.9, truth, ~truth) for k in range(3)}
        return long(seen)

    few, many = (reviewer_agreement.alpha(ratings(n), resamples=300) for n in (40, 640))
    assert many.interval.low < 0.64 < many.interval.high  # 1 - 2 * 0.1 squared
    assert many.interval.high - many.interval.low < (few.interval.high - few.interval.low) / 2


def alpha_of(rows):
    return krippendorff.alpha(value_counts=rows, level_of_measurement="nominal")


def kappa_of(pairs):
    return cohen_kappa_score(pairs[:, 0], pairs[:, 1])


@pytest.mark.at_length
@pytest.mark.parametrize(
    ("of", "figure", "rows"),
    [
        (reviewer_agreement.fleiss, fleiss_kappa, PATIENTS),
        (reviewer_agreement.alpha, alpha_of, PATIENTS),
        (reviewer_agreement.cohen, kappa_of, PAIRS),
    ],
    ids=["fleiss", "alpha", "cohen"],
)
def test_the_interval_holds_the_middle_of_the_librarys_figures_over_draws_of_units(of, figure, rows):
    ratings = of_counts(rows) if rows is PATIENTS else of_table(TWO_DIAGNOSES)
    figures = [figure(rows[chosen]) for chosen in draw_indices(len(rows), 0, 200)]
    found = of(ratings, resamples=200)
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(np.quantile(figures, [0.025, 0.975])))


def decisions(units=40):
    draw = np.random.default_rng(8)
    truth = draw.random(units) < 0.5
    rows = []
    for kind, count, right_share, seconds in (("human", 4, 0.85, 20), ("rule", 3, 0.7, 2)):
        for person in range(count):
            for unit in range(units):
                right = draw.random() < right_share
                label = "misaligned" if truth[unit] == right else "aligned"
                ms = int(1_000 * seconds * np.exp(draw.normal(0.1 * person, 0.3)))
                rows.append((kind, f"{kind[0]}{person}", f"u{unit}", label, right, ms))
    return pd.DataFrame(rows, columns=["annotator_kind", "participant", "unit", "label", "correct", "lead_time_ms"])


def test_each_kind_has_its_accuracy_pace_and_agreement():
    frame = decisions()
    human, rule = reviewer_agreement.compare_kinds(frame)
    ours = frame[frame["annotator_kind"] == "human"]
    assert (human.kind, human.participants, human.decisions) == ("human", 4, 160)
    assert human.accuracy.value == pytest.approx(ours.groupby("participant")["correct"].mean().mean())
    assert 15 < human.seconds.value < 30
    assert human.alpha.value == reviewer_agreement.alpha(ours.rename(columns={"participant": "rater"})).value
    assert rule.accuracy.value < human.accuracy.value


def test_humans_and_others_are_two_groups():
    frame = decisions()
    found = reviewer_agreement.compare_humans_and_others(frame)
    accuracy = frame.groupby(["annotator_kind", "participant"])["correct"].mean()
    theirs = stats.ttest_ind(accuracy["human"], accuracy["rule"], equal_var=False)
    assert found.accuracy.p_value == pytest.approx(theirs.pvalue)
    assert found.seconds.value == pytest.approx(10, rel=0.3)
    assert found.seconds.interval.low > 1


def test_agreement_across_kinds_counts_every_pair_of_a_human_and_another():
    frame = decisions(units=12)
    equal = pairs = 0
    for _, rows in frame.groupby("unit"):
        sides = [rows.loc[rows["annotator_kind"] == kind, "label"] for kind in ("human", "rule")]
        equal += sum(one == other for one in sides[0] for other in sides[1])
        pairs += len(sides[0]) * len(sides[1])
    found = reviewer_agreement.compare_humans_and_others(frame).agreement
    assert found.value == pytest.approx(equal / pairs)
    assert found.interval.low < found.value < found.interval.high
    assert found.n == 12


def test_missing_labels_units_and_truths_do_not_count():
    frame = decisions().astype({"correct": "boolean", "lead_time_ms": "Int64"})
    more = frame.iloc[[0, 1]].assign(unit=None, label=None, correct=pd.NA, lead_time_ms=pd.NA)
    first, second = (reviewer_agreement.compare_kinds(one)[0] for one in (frame, pd.concat([frame, more])))
    assert first.accuracy == second.accuracy
    assert first.seconds == second.seconds
    assert first.alpha == second.alpha


def test_a_study_of_people_only_says_that_there_is_nobody_to_compare_with():
    frame = decisions()
    found = reviewer_agreement.compare_humans_and_others(frame[frame["annotator_kind"] == "human"])
    assert (found.accuracy.value, found.seconds.value, found.agreement.value) == (None, None, None)
    assert "No unit has labels from both" in found.agreement.note
    assert reviewer_agreement.compare_kinds(frame.iloc[:0]) == ()
    with pytest.raises(BadInput, match="no column 'correct'"):
        reviewer_agreement.compare_kinds(frame.drop(columns="correct"))
