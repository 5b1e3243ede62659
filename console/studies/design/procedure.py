"""What happens in a study, what is measured and how it is analysed, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.detection.detectors import detector
from console.studies.design.asking import RULES
from console.studies.design.contrasts import MEASURES, PRIMARY, planned_contrasts
from console.studies.design.factors import unattended
from console.studies.design.instruments import Instrument
from console.studies.design.model import SCRIPTED, Design, IntakeQuestion, conditions, instruments_of
from console.studies.design.power import Assumptions, compared


def steps(design: Design) -> list[str]:
    """What a participant meets, in order."""
    source, checks = design.source, design.checks
    acts = (
        f"The recorded run {source.run} is replayed"
        if source.run
        else f"The {source.actor} Actor acts in {source.environment}"
    )
    alone = [arm.name for arm in conditions(design) if unattended(arm.levels)]
    found = [
        f"{acts}; each participant's feedback drives their own copy of the next trial.",
        _recruited(design),
        "People are asked for their consent first." if design.consent.text.strip() else "No consent text is shown.",
        f"Questions about the participant: {_keys(design)}." if design.demographics else "",
        *_questionnaires(design),
        f"Practice items, each with its answer explained: {design.practice}." if design.practice else "",
        _budget(design),
        "Flagged actions come in the order of the detector's score.",
        _attention(checks.attention),
        *_known(design),
        f"Nobody reviews in {', '.join(alone)}: the agents try again alone." if alone else "",
        f"A break of {design.break_minutes:g} minutes is offered between two conditions."
        if design.break_minutes
        else "",
        f"People wait {design.washout_hours:g} hours between two conditions (wash-out)."
        if design.washout_hours
        else "",
        f"A decision can be taken back for {design.undo_seconds:g} seconds.",
        f"After each decision people say how sure they are, on {design.confidence} points."
        if design.confidence
        else "",
        "Steps opened, scrolls and keys are recorded, never text; the consent page says so."
        if design.interaction_trace
        else "",
        "At the end a question is answered in words." if design.debriefing.question.strip() else "",
    ]
    return [sentence for sentence in found if sentence]


def _attention(count: int) -> str:
    many = "1 attention check" if count == 1 else f"{count} attention checks"
    return f"{many} in the first trial of every condition; each says in its task which answer to give." if count else ""


def _known(design: Design) -> Iterator[str]:
    """How many items of each cell there are, how they are met, and what that costs."""
    checks = design.checks
    cells = [
        (checks.known_bad, "wrong actions that the detector flags"),
        (checks.known_good, "right actions that it flags"),
        (checks.unflagged_bad, "wrong actions that it does not flag"),
        (checks.unflagged_good, "right actions that it does not flag"),
    ]
    items = ", ".join(f"{count} {what}" for count, what in cells if count)
    if items:
        yield (
            f"Seeded tasks, whose right answers are known, begin in the first trial of every condition: {items}. The "
            "same Actor plays them beside the study's tasks, and one that is turned down comes again in the next "
            "trial, as others do; what a cell of a later trial holds depends on the answers."
        )
        yield (
            "Seeded items take no inspection from the others: the meter that participants see grows by them and "
            "counts them. They wait in the same order of scores, so what the budget does not reach of that order "
            "leaves out seeded ones too."
        )
        yield from _unforeseen(design)
    if checks.audited:
        yield (
            f"Of the study's own actions that the detector does not flag, a share of {checks.audited:g}, drawn by "
            "lot, is held for review beside the budget."
        )


def _unforeseen(design: Design) -> Iterator[str]:
    if design.source.run is None and design.source.actor != SCRIPTED:
        yield f"Which of these a seeded task turns out to be is known once the {design.source.actor} Actor has acted."
        return
    names = dict.fromkeys(arm.levels["detector"] for arm in conditions(design) if not unattended(arm.levels))
    if models := [name for name in names if detector(name).judge is None]:
        yield f"Which of them {', '.join(models)} flags is known once a model has judged them."


def measures(design: Design) -> list[str]:
    """What is measured, the primary outcome first."""
    first = design.estimands.measure
    others = [words for name, words in MEASURES.items() if name != first]
    return [
        f"Primary: {MEASURES[first]}, in each condition of each participant; the last trial is trial "
        f"{design.trials - 1}. Undecided flagged actions are released after a trial closes; success with them held is "
        "reported beside it.",
        f"Secondary: {'; '.join(others)}.",
        "Described beside them: seconds per item; agreement between reviewers on trial 0; decisions against the "
        "detector by its score; inspections used; words of feedback."
        + (
            " Of seeded items: omission, commission, d' and criterion (log-linear correction)."
            * bool(design.checks.known)
        ),
    ]


def analysis(design: Design) -> list[str]:
    """How conditions are compared."""
    if len(conditions(design)) < 2:
        return ["There is one condition, so nothing is tested; shares are given with 95 % intervals."]
    stated, primary = design.estimands, [one for one in planned_contrasts(design) if one.kind == PRIMARY]
    tests = f"{len(primary)} contrast{'s' * (len(primary) != 1)}"
    model = (
        "a t-test of participants' own values of each contrast, from their means by condition, so that participants "
        f"may differ in what each factor does to them; {_sets(design)}whoever has not ended every condition that a "
        "contrast compares is left out of it"
        if design.comparison == "within"
        else "least squares of participants' means, t with the pooled variance"
    )
    same = design.same_tasks or design.comparison == "between"
    found = [
        f"Tested first, as one family of {tests}, two-sided at {stated.alpha:g}, "
        f"{_CORRECTIONS[stated.correction]}: {'; '.join(one.name for one in primary)}.",
        f"The model: {model}. Estimates are differences in proportions with 95 % intervals.",
        *(
            ["All conditions have the same tasks: intervals hold for other participants, not for other tasks."]
            if same
            else []
        ),
        "Secondary contrasts are corrected as families of their own, one for each measure; every two conditions by a "
        f"{_PAIRWISE[design.comparison]} stand beside them. Anything else is exploratory.",
    ]
    if stated.equivalence is not None:
        found.append(f"Equivalence is tested by two one-sided tests within {stated.equivalence:g} (TOST).")
    return [
        *found,
        "People and simulated reviewers are analysed apart; where people take part, simulated ones are exploratory.",
    ]


def _sets(design: Design) -> str:
    rotating = "sets of tasks, which rotate, are taken out as fixed effects where that leaves 3 degrees of freedom; "
    return "" if design.same_tasks else rotating


_CORRECTIONS = {
    "holm": "p-values corrected by Holm",
    "bonferroni": "p-values corrected by Bonferroni",
    "none": "p-values not corrected",
}
_PAIRWISE = {
    "within": "paired t-test and the Wilcoxon signed-rank test over participants",
    "between": "Welch's t-test and the Mann-Whitney test over participants",
}


def exclusions(design: Design) -> list[str]:
    """Whose data are left out, and when the study ends."""
    gone = "deleted" if design.consent.withdrawal == "remove" else "kept under a new pseudonym, without their answers"
    checks = "Attention checks are reported with the results; nobody is excluded for them unless stated here."
    stated = design.exclusions.rules()
    limits = "; ".join(f"{RULES[rule]} {limit:g}" for rule, limit in stated.items())
    kept = (
        f"People are kept in the analysis by these limits: {limits}. The primary contrasts are given with those left "
    )
    return [
        *([checks] if design.checks.attention and "failed_attention" not in stated else []),
        *([f"{kept}out as well, and the data of all are exported."] if stated else []),
        *(f"Who answers {' or '.join(one.screens_out)} to {one.key} does not take part." for one in _screening(design)),
        *_led_back(design),
        f"The data of participants who withdraw are {gone}; their place may be taken by another person.",
        "The study ends when every place is finished or the researcher closes it; there is no interim analysis.",
    ]


def assumed(design: Design, assumptions: Assumptions, simulations: int) -> str:
    """What the power rests on, in one paragraph."""
    factor, first, last = compared(design, assumptions.factor)
    return (
        f"By {simulations} simulated studies with {MEASURES[design.estimands.measure]} {assumptions.start:.2f} for "
        f"{factor} {first} and {assumptions.start + assumptions.effect:.2f} for {factor} {last}, no other effects, and "
        f"standard deviations on the logit scale of {assumptions.participant_sd:g} between participants, "
        f"{assumptions.effect_sd:g} between participants' effects and {assumptions.task_sd:g} between tasks; the "
        f"planned contrast, two-sided at {assumptions.alpha:g}, with the correction of its family."
    )


def rule_words(rule: Mapping[str, float]) -> str:
    """How a simulated reviewer errs, in words; empty for people and for those who never do."""
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in rule.items())


def _screening(design: Design) -> list[IntakeQuestion]:
    return [one for one in design.demographics if one.screens_out]


_MOMENTS = {"before": "Before the first condition", "between": "After each condition", "after": "After all conditions"}


def _questionnaires(design: Design) -> list[str]:
    """Which questionnaires come when, each with its source and licence; simulated reviewers fill in none."""
    known = instruments_of(design)
    found = []
    for moment, names in design.questionnaires.named():
        if names:
            told = "; ".join(f"{name} ({_source(known[name])})" for name in names)
            found.append(f"{_MOMENTS[moment]} people fill in {told}.")
    return found


def _source(instrument: Instrument) -> str:
    own = "own items of this study"
    return ". ".join(filter(None, [instrument.source or own, instrument.licence])) or own


def _recruited(design: Design) -> str:
    recruiting = design.recruiting
    if platform := recruiting.of_platform:
        return f"People come from {platform.title}, one place an id; of the id only a keyed digest is kept."
    return "People come by links that open one place each." if recruiting.by_invitation else ""


def _led_back(design: Design) -> Iterator[str]:
    """What those who do not take part to the end are given to go back by."""
    recruiting = design.recruiting
    if recruiting.screen_out_url and _screening(design):
        yield f"Whom an answer keeps out is led back by {recruiting.screen_out_url}."
    if recruiting.return_url:
        yield f"Who declines the consent or withdraws is led back by {recruiting.return_url}."
    elif recruiting.of_platform:
        yield f"Who declines the consent is asked to return their place on {recruiting.of_platform.title}."


def _keys(design: Design) -> str:
    return ", ".join(f"{one.key} ({one.kind})" for one in design.demographics)


def _budget(design: Design) -> str:
    budget = design.budget
    if budget is None:
        return "Inspections are not limited."
    share = f"{budget} of the first trial's finished trajectories" if budget.endswith("%") else budget
    halted = "; those of halted trials cost nothing" if design.halted_free else ""
    return f"Inspections per participant, condition and trial: {share}{halted}."
