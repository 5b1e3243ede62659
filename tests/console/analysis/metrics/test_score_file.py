import json

import pytest

from console.analysis.metrics.score_file import evaluate_scores
from console.errors import BadInput


def written(tmp_path, text):
    path = tmp_path / "scores.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_without_detectors_answers_under_scores(tmp_path):
    path = written(tmp_path, "label,score\nmisaligned,0.9\naligned,0.2\n1,0.5\nFALSE,0.6\n")
    found = evaluate_scores(path)
    assert list(found) == ["scores"]
    figures = found["scores"]
    assert [figures[name] for name in ("tp", "fp", "fn", "tn", "n", "cost", "threshold")] == [1, 1, 1, 1, 4, 2, 0.5]
    assert figures["macro_f1"] == pytest.approx(0.5)
    assert figures["er"] == 0.0
    assert figures["roc_auc"] == pytest.approx(0.75)
    assert figures["brier"] == pytest.approx((0.01 + 0.04 + 0.25 + 0.36) / 4)


def test_each_detector_is_scored_apart_and_a_threshold_is_strict(tmp_path):
    path = written(tmp_path, "detector,score,label\na,0.4,true\nb,0.4,true\na,0.1,false\n")
    found = evaluate_scores(path, threshold=0.4)
    assert list(found) == ["a", "b"]
    assert found["a"]["fn"] == 1
    assert found["b"]["roc_auc"] is None
    assert "NaN" not in json.dumps(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("label,score\naligned,0.1\nmaybe,0.3\n", "line 3: invalid label 'maybe'"),
        ("label,score\naligned,high\n", "line 2: invalid score 'high'"),
        ("label,score\naligned,nan\n", "line 2: invalid score 'nan'"),
        ("label,score\naligned,1.5\n", "line 2: invalid score '1.5'"),
        ("label,score\naligned\n", "line 2: invalid score None"),
        ("label\naligned\n", "the column 'score' is missing"),
        ("", "the column 'label' is missing"),
        ("label,score\n", "has no scores"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence_with_its_line(tmp_path, text, words):
    with pytest.raises(BadInput, match=words):
        evaluate_scores(written(tmp_path, text))


def test_a_missing_file_and_a_wrong_encoding_are_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        evaluate_scores(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"label,score\nal\xefgned,0.1\n")
    with pytest.raises(BadInput, match="UTF-8"):
        evaluate_scores(tmp_path / "latin.csv")
