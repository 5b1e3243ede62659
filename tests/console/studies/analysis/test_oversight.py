"""The oversight curve of each condition, from the items alone."""

from console.studies.analysis.oversight import points, summary


def test_every_condition_has_a_curve_that_ends_at_all_there_is_to_catch(tables):
    drawn, ends = points(tables), summary(tables)
    assert set(drawn["condition"]) == {"rules-shown", "rules-hidden"}
    ideal = drawn[(drawn["policy"] == "ideal") & (drawn["condition"] == "rules-shown")]
    assert ideal["caught"].tolist() == [0, 1, 2, 3, 3, 3, 3]
    reviewed = ends[(ends["policy"] == "as reviewed") & (ends["condition"] == "rules-shown")]
    assert reviewed[["spent", "caught"]].to_numpy().tolist() == [[3, 2]]


def test_without_labels_there_is_no_curve(tables):
    unknown = tables["items"].assign(gold_label=None)
    without = {**tables, "items": unknown}
    assert len(points(without)) == len(summary(without)) == 0
