"""What each arm was allowed and what it spent, and when."""

from console.studies.results.budget_spending import budget, ledger


def test_each_arm_has_its_own_budget_and_checks_have_none(read):
    frame = read(budget, 1)
    assert len(frame) == 6
    assert frame[["cap", "used"]].drop_duplicates().to_numpy().tolist() == [[3, 1]]


def test_movements_add_up_to_what_was_used_and_name_nobody(read):
    frame = read(ledger, 1)
    last = frame.groupby(["participant", "condition", "trial"])["used"].last()
    assert set(last) == {1}
    assert frame.groupby(["participant", "condition"])["units"].sum().eq(1).all()
    assert "reviewer" not in frame
