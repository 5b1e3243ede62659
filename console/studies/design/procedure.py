"""What happens in a study, what is measured and how it is analysed, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from console.studies.design.factors import unattended
from console.studies.design.model import Design, conditions
from console.studies.design.power import Assumptions, compared


def steps(design: Design) -> list[str]:
    """What a participant meets, in order."""
    source, checks = design.source, design.checks
    acts = (
        f"The recorded run {source.run} is replayed"
        if source.run
        else f"The {source.actor} Actor acts in {source.environment}"
    )
    seeded = [
        (checks.attention, "attention checks"),
        (checks.known_good, "known-good"),
        (checks.known_bad, "known-bad"),
    ]
    items = ", ".join(f"{count} {name}" for count, name in seeded if count)
    alone = [arm.name for arm in conditions(design) if unattended(arm.levels)]
    found = [
        f"{acts}; each participant's feedback drives their own copy of the next trial.",
        "Consent is asked first." if design.consent.text.strip() else "No consent text is shown.",
        f"Questions about the participant: {_keys(design)}." if design.demographics else "",
        f"Practice items, each with its answer explained: {design.practice}." if design.practice else "",
        f"{_budget(design.budget)} Flagged actions come in the order of the detector's score.",
        f"Items with a known answer in every condition: {items}; they cost no inspection." if items else "",
        f"Nobody reviews in {', '.join(alone)}: the agents try again alone." if alone else "",
        f"A break of {design.break_minutes:g} minutes is offered between two conditions."
        if design.break_minutes
        else "",
        f"A decision can be taken back for {design.undo_seconds:g} seconds.",
    ]
    return [sentence for sentence in found if sentence]


def measures(design: Design) -> list[str]:
    """What is measured, the primary outcome first."""
    return [
        f"Primary: the success rate at trial {design.trials - 1} of each participant in each condition, with undecided "
        "flagged actions released after the trial closes; reported beside it with them held.",
        "Secondary: share of decisions that agree with the gold label; seconds per item; agreement between reviewers "
        "on trial 0; decisions against the detector by its score; inspections used; words of feedback.",
    ]


def analysis(design: Design) -> list[str]:
    """How conditions are compared."""
    test = (
        "paired t-test over participants, beside it the Wilcoxon signed-rank test"
        if design.comparison == "within"
        else "Welch's t-test over participants, beside it the Mann-Whitney test"
    )
    return [
        f"Each two conditions are compared by a two-sided {test}; p-values are corrected by Holm over the pairs.",
        "Differences are given with 95 % t intervals over participants, and with an effect size.",
        "A mixed-effects model of success with participants as random effects is reported beside the tests.",
        "People and simulated reviewers are analysed apart.",
    ]


def exclusions(design: Design) -> list[str]:
    """Whose data are left out, and when the study ends."""
    gone = "deleted" if design.consent.withdrawal == "remove" else "kept under a new pseudonym, without their answers"
    checks = "Attention checks are reported with the results; nobody is excluded for them unless stated here."
    return [
        *([checks] if design.checks.attention else []),
        f"The data of participants who withdraw are {gone}; their place may be taken by another person.",
        "The study ends when every place is finished or the researcher closes it; there is no interim analysis.",
    ]


def assumed(design: Design, assumptions: Assumptions, simulations: int) -> str:
    """What the power rests on, in one paragraph."""
    factor, first, last = compared(design, assumptions.factor)
    return (
        f"By {simulations} simulated studies with success rates of {assumptions.start:.2f} for {factor} {first} and "
        f"{assumptions.start + assumptions.effect:.2f} for {factor} {last}, and standard deviations on the logit scale "
        f"of {assumptions.participant_sd:g} between participants, {assumptions.effect_sd:g} between participants' "
        f"effects and {assumptions.task_sd:g} between tasks; two-sided test at {assumptions.alpha:g}, one comparison."
    )


def rule_words(rule: Mapping[str, float]) -> str:
    """How a simulated reviewer errs, in words; empty for people and for those who never do."""
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in rule.items())


def _keys(design: Design) -> str:
    return ", ".join(f"{one.key} ({one.kind})" for one in design.demographics)


def _budget(budget: str | None) -> str:
    if budget is None:
        return "Inspections are not limited."
    share = f"{budget} of the first trial's finished trajectories" if budget.endswith("%") else budget
    return f"Inspections per participant, condition and trial: {share}."
