"""The oversight curve of each condition, from the items alone."""

from console.studies.report.oversight import oversight


def test_every_condition_has_a_curve_that_ends_at_all_there_is_to_catch(tables):
    points, summary = oversight(tables)
    assert set(points["condition"]) == {"rules-shown", "rules-hidden"}
    ideal = points[(points["policy"] == "ideal") & (points["condition"] == "rules-shown")]
    assert ideal["caught"].tolist() == [0, 1, 2, 3, 3, 3, 3]
    reviewed = summary[(summary["policy"] == "as reviewed") & (summary["condition"] == "rules-shown")]
    assert reviewed[["spent", "caught"]].to_numpy().tolist() == [[3, 2]]


def test_without_labels_there_is_no_curve(tables):
    unknown = tables["items"].assign(gold_label=None)
    points, summary = oversight({**tables, "items": unknown})
    assert len(points) == len(summary) == 0
