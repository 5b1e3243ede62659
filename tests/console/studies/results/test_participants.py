"""Who took part, and what they were to see."""

from console.studies.results.participants import allocation, participants


def test_places_that_somebody_has_are_told_without_what_brings_them_back(read):
    frame = read(participants, 1)
    assert frame["participant"].tolist() == ["P01", "P02", "P03"]
    assert frame["annotator_kind"].tolist() == ["human", "human", "rule"]
    assert frame["conditions_done"].tolist() == [2, 2, 2]
    assert frame["decisions"].tolist() == [5, 5, 5]
    assert "secret" not in frame.to_csv()
    assert "code-1" not in frame.to_csv()


def test_the_allocation_has_each_task_in_its_order(read):
    frame = read(allocation, 1)
    assert len(frame) == 12
    first = frame[frame["participant"] == "P01"]
    assert first["task_id"].tolist() == ["kettle", "lamp", "sofa", "desk"]
    assert first["place"].tolist() == [1, 2, 1, 2]
    assert first["position"].tolist() == [1, 1, 2, 2]
