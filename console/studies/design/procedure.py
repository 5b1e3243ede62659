"""Sentences that describe the procedure, measures and analysis of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.analysis.statistics.crossed import RARE, RARE_FACTOR
from console.detection.detectors import detector
from console.language import counted
from console.studies.design.contrasts import MEASURES, PRIMARY, planned_contrasts
from console.studies.design.factors import is_unattended
from console.studies.design.model import SCRIPTED, Design, IntakeQuestion, conditions, instruments_of
from console.studies.design.part import PILOT_LIMITS, RULES
from console.studies.design.power import Assumptions, get_compared_levels


def describe_steps(design: Design) -> list[str]:
    """Describe the participant's steps in order."""
    source, checks = design.source, design.checks
    acts = (
        f"The recorded run {source.run} is replayed"
        if source.run
        else f"The {source.actor} Actor acts in {source.environment}"
    )
    keys = ", ".join(f"{one.key} ({one.kind})" for one in design.demographics)
    alone = [arm.name for arm in conditions(design) if is_unattended(arm.levels)]
    attention = counted(checks.attention, "attention check")
    found = [
        f"{acts}; each participant's feedback affects only their own copy of the next trial.",
        _recruited(design),
        "People give their consent first." if design.consent.text.strip() else "No consent text is shown.",
        f"Questions about the participant: {keys}." if keys else "",
        *_questionnaires(design),
        f"A quiz on the instructions, {counted(len(design.quiz.questions), 'question')}: all answers must be correct "
        f"within {design.quiz.tries} tries; other people do not take part."
        if design.quiz.questions
        else "",
        f"Practice items, each with its answer explained: {design.practice}." if design.practice else "",
        _budget(design),
        "Flagged actions are ordered by the detector's score.",
        f"{attention} in the first trial of every condition; the task of each states the correct decision."
        if checks.attention
        else "",
        *_known(design),
        f"Without a reviewer: {', '.join(alone)}; the agents try again alone." if alone else "",
        f"A break of {design.break_minutes:g} minutes is offered between two conditions."
        if design.break_minutes
        else "",
        f"People wait {design.washout_hours:g} hours between two conditions (wash-out)."
        if design.washout_hours
        else "",
        f"A decision can be undone for {design.undo_seconds:g} seconds.",
        f"After each decision people rate their confidence on {design.confidence} points." if design.confidence else "",
        "Opened steps, scrolls and keys are recorded, but no text; the consent page says so."
        if design.interaction_trace
        else "",
        "At the end people answer an open question." if design.debriefing.question.strip() else "",
    ]
    return [sentence for sentence in found if sentence]


def _known(design: Design) -> Iterator[str]:
    checks = design.checks
    cells = [
        (checks.known_bad, "wrong, flagged action"),
        (checks.known_good, "correct, flagged action"),
        (checks.unflagged_bad, "wrong, unflagged action"),
        (checks.unflagged_good, "correct, unflagged action"),
    ]
    items = ", ".join(counted(count, what) for count, what in cells if count)
    if items:
        yield (
            f"Seeded tasks with known answers start in the first trial of every condition: {items}. The "
            "study's Actor also does these tasks. A rejected seeded item comes again in the next "
            "trial, like others, so later trials depend on the decisions."
        )
        yield (
            "Seeded items do not use the budget of the others: the meter on the page grows by them and counts them. "
            "Seeded items share the order of scores, so items beyond the budget include seeded ones."
        )
        yield from _unforeseen(design)
    if checks.audited:
        yield (
            f"A random share of at most {checks.audited:g} of the study's own unflagged actions is reviewed outside "
            "the budget."
        )
    if checks.unflagged_good or checks.unflagged_bad:
        yield (
            "In each round, seeded items have the same share among unflagged as among flagged items. Unflagged items "
            "above that share are left out at random, so that a flag does not reveal a seeded item."
        )


def _unforeseen(design: Design) -> Iterator[str]:
    if design.source.run is None and design.source.actor != SCRIPTED:
        yield f"The {design.source.actor} Actor's actions decide which of these a seeded task becomes."
        return
    names = dict.fromkeys(arm.levels["detector"] for arm in conditions(design) if not is_unattended(arm.levels))
    if models := [name for name in names if detector(name).judge is None]:
        yield f"A model decides which of them {', '.join(models)} flags."


def describe_measures(design: Design) -> list[str]:
    """Describe the measures, the primary outcome first."""
    first = design.estimands.measure
    others = [words for name, words in MEASURES.items() if name != first]
    return [
        f"Primary: {MEASURES[first]}, in each condition of each participant; the last trial is trial "
        f"{design.trials - 1}. Undecided flagged actions run after a trial closes; success with them held is "
        "reported too.",
        f"Secondary: {'; '.join(others)}.",
        "Descriptive: seconds per item; agreement between reviewers on trial 0; decisions against the "
        "detector by its score; inspections used; words of feedback."
        + (
            " Of seeded items: omission, commission, d' and criterion (log-linear correction)."
            * bool(design.checks.known)
        ),
    ]


def describe_analysis(design: Design) -> list[str]:
    """Describe how conditions are compared."""
    if len(conditions(design)) < 2:
        return ["There is one condition and no test; shares have 95 % intervals."]
    stated, primary = design.estimands, [one for one in planned_contrasts(design) if one.kind == PRIMARY]
    tests = f"{len(primary)} contrast{'s' * (len(primary) != 1)}"
    plain = (
        "a t-test of participants' own values of each contrast"
        if design.comparison == "within"
        else "Welch's t-test of participants' means"
    )
    found = [
        f"Tested first, as one family of {tests}, two-sided at {stated.alpha:g}, "
        f"{_CORRECTIONS[stated.correction]}: {'; '.join(one.name for one in primary)}.",
        "The model: participants and tasks are random samples (Westfall, Kenny and Judd 2014). Least squares of "
        "single answers estimates each contrast, a difference in proportions. Its variance is V_P + V_T - V_E, at "
        "least the larger of V_P and V_T, with CR2 corrections and Satterthwaite's degrees of freedom.",
        f"If a compared condition's mean is at most {RARE:g} or at least {1 - RARE:g}, the standard error is raised by "
        f"{RARE_FACTOR - 1:.0%}: intervals of so skewed answers were too narrow in simulated studies.",
        "Joint intervals have the level of each contrast's step in the correction, so that they exclude 0 exactly if "
        "the test rejects.",
        f"Beside the model stands {plain}, which holds for these tasks only.",
        "That test answers the question if the data do not support a claim over tasks. The cases are: each task in one "
        "condition only; fewer than 8 tasks; fewer than 6 people in a group; fewer than 5 people with every condition "
        "(4 if no answer is missing); or a part of the contrast that rests on one person alone.",
        "Secondary contrasts are corrected as one family per measure. Every pair of conditions is compared by a "
        f"{_PAIRWISE[design.comparison]}. Everything else is exploratory.",
    ]
    if stated.equivalence is not None:
        found.append(f"Equivalence is tested by two one-sided tests within {stated.equivalence:g} (TOST).")
    return [
        *found,
        "People and simulated reviewers are analysed separately; beside people, simulated ones are exploratory.",
    ]


_CORRECTIONS = {
    "holm": "Holm-corrected p-values",
    "bonferroni": "p-values corrected by Bonferroni",
    "none": "p-values not corrected",
}
_PAIRWISE = {
    "within": "paired t-test and the Wilcoxon signed-rank test over participants",
    "between": "Welch's t-test and the Mann-Whitney test over participants",
}


def describe_exclusions(design: Design) -> list[str]:
    """Describe which participants are excluded, and when the study ends."""
    gone = "deleted" if design.consent.withdrawal == "remove" else "kept under a new pseudonym, without their answers"
    checks = "Attention checks are reported with the results; they exclude no participant unless stated here."
    stated = design.exclusions.rules()
    limits = "; ".join(f"{RULES[rule]} {limit:g}" for rule, limit in stated.items())
    kept = f"The analysis keeps people within these limits: {limits}. The primary contrasts are reported with excluded "
    return [
        *describe_pilot(design),
        *([checks] if design.checks.attention and "failed_attention" not in stated else []),
        *([f"{kept}people too, and all data are exported."] if stated else []),
        *(
            f"People who answer {' or '.join(one.screens_out)} to {one.key} do not take part."
            for one in _screening(design)
        ),
        *(
            f"At most {most} people answer {choice} to {one.key}; others with this answer do not take part."
            for one in design.demographics
            for choice, most in one.quotas.items()
        ),
        *_led_back(design),
        f"The data of participants who withdraw are {gone}; another person may take their place.",
        "The study ends when every place is finished or the researcher closes it, without an interim analysis.",
    ]


def describe_pilot(design: Design) -> Iterator[str]:
    """Describe the pilot and its stop rule; nothing if the design has no pilot."""
    if design.pilot.people:
        stated = "; ".join(
            f"{PILOT_LIMITS[name]} {limit:g}" for name, limit in design.pilot.stop_above.limits().items()
        )
        yield (
            f"The first {counted(design.pilot.people, 'participant')} to finish are a pilot. Others join after them. "
            "The analysis leaves the pilot out."
        )
        yield f"No others join if the pilot exceeds a limit: {stated}." if stated else "The pilot has no stop rule."


def describe_assumptions(design: Design, assumptions: Assumptions, simulations: int) -> str:
    """Describe the assumptions of the power analysis in one paragraph."""
    factor, first, last = get_compared_levels(design, assumptions.factor)
    return (
        f"By {simulations} simulated studies: {MEASURES[design.estimands.measure]} is {assumptions.start:.2f} for "
        f"{factor} {first} and {assumptions.start + assumptions.effect:.2f} for {factor} {last}; other effects are 0. "
        f"Standard deviations on the logit scale are {assumptions.participant_sd:g} between participants, "
        f"{assumptions.effect_sd:g} between participants' effects, {assumptions.task_sd:g} between tasks and "
        f"{assumptions.task_effect_sd:g} between tasks' effects. {assumptions.dropout:.0%} of the parts are lost. The "
        f"test is the planned contrast, two-sided at {assumptions.alpha:g}, corrected within its family."
    )


def describe_rule(rule: Mapping[str, float]) -> str:
    """Describe the error rates of a simulated reviewer, or return an empty text if there are none."""
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in rule.items())


def _screening(design: Design) -> list[IntakeQuestion]:
    return [one for one in design.demographics if one.screens_out]


_MOMENTS = {"before": "Before the first condition", "between": "After each condition", "after": "After all conditions"}


def _questionnaires(design: Design) -> list[str]:
    known = instruments_of(design)
    found = []
    for moment, names in design.questionnaires.named():
        if names:
            own = "own items of this study"
            sources = {name: [known[name].source or own, known[name].licence] for name in names}
            told = "; ".join(f"{name} ({'. '.join(filter(None, source))})" for name, source in sources.items())
            found.append(f"{_MOMENTS[moment]} people fill in {told}.")
    return found


def _recruited(design: Design) -> str:
    recruiting = design.recruiting
    if platform := recruiting.of_platform:
        return f"People come from {platform.title}, one place per id; only a keyed digest of the id is stored."
    return "People join by personal links, one place each." if recruiting.by_invitation else ""


def _led_back(design: Design) -> Iterator[str]:
    recruiting = design.recruiting
    turned_away = bool(_screening(design) or design.quiz.questions or any(one.quotas for one in design.demographics))
    if recruiting.screen_out_url and turned_away:
        yield f"People who are screened out return by {recruiting.screen_out_url}."
    if recruiting.return_url:
        yield f"People who decline the consent or withdraw return by {recruiting.return_url}."
    elif recruiting.of_platform:
        yield f"People who decline the consent are asked to return their place on {recruiting.of_platform.title}."


def _budget(design: Design) -> str:
    budget = design.budget
    if budget is None:
        return "Inspections are unlimited."
    share = f"{budget} of the first trial's completed trajectories" if budget.endswith("%") else budget
    halted = "; inspections of halted trials are free" if design.halted_free else ""
    return f"Inspections per participant, condition and trial: {share}{halted}."
