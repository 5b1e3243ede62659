"""The plan in the fields of the OSF Preregistration template, as Markdown to copy field by field.

Fields that only the researcher can fill in are marked "To be filled in".
"""

from __future__ import annotations

from collections.abc import Sequence

from console.studies.design import procedure
from console.studies.design.allocation import PlannedCondition, promise, task_count
from console.studies.design.contrasts import EXPLORATORY, PRIMARY, planned_contrasts
from console.studies.design.factors import FACTORS
from console.studies.design.model import Design, conditions, varied_factors
from console.studies.design.power import Assumptions, Power
from console.studies.design.preregistration import bullets

_OPEN = "To be filled in."


def osf_fields(design: Design, places: Sequence[PlannedCondition], powers: Sequence[Power] = ()) -> dict[str, str]:
    """Return the text of each field, in the order of the template; `powers` give the rationale of the sample size."""
    people = len({place.number for place in places})
    asked = planned_contrasts(design)
    analysis = procedure.describe_analysis(design)
    return {
        "Title": design.name,
        "Description": " ".join(procedure.describe_steps(design)[:2]),
        "Hypotheses": bullets(one.asks for one in asked if one.kind == PRIMARY) or "There is one condition.",
        "Study type": "Experiment: participants or conditions are assigned at random.",
        "Blinding": "Participants do not know the condition or which items have a known answer.",
        "Study design": _study_design(design),
        "Randomization": f"Seed {design.seed}. {' '.join(promise(design))}",
        "Existing data": "Registration prior to creation of data.",
        "Data collection procedures": " ".join(procedure.describe_steps(design)),
        "Sample size": (
            f"{people} participants{_piloted(design)} and {task_count(design)} tasks, {design.tasks} per condition."
        ),
        "Sample size rationale": _rationale(design, powers),
        "Stopping rule": " ".join([*procedure.describe_pilot(design), procedure.describe_exclusions(design)[-1]]),
        "Manipulated variables": bullets(
            (f"{FACTORS[name].title}: {', '.join(levels)}" for name, levels in varied_factors(design).items())
        )
        or "None.",
        "Measured variables": " ".join(procedure.describe_measures(design)),
        "Indices": "Questionnaire scores follow the rules in design.yaml.",
        "Statistical models": " ".join(analysis),
        "Transformations": "None.",
        "Inference criteria": analysis[0],
        "Data exclusion": " ".join(procedure.describe_exclusions(design)[:-1]),
        "Missing data": (
            "Missing answers are not imputed. Participants with part of their data stay in the estimate over people "
            "and tasks."
        ),
        "Exploratory analysis": "Everything that is not listed above, and "
        + ("results of simulated reviewers." if any(one.kind != EXPLORATORY for one in asked) else "all results."),
        "Other": _OPEN,
    }


def osf_preregistration(design: Design, places: Sequence[PlannedCondition], powers: Sequence[Power] = ()) -> str:
    """Return the fields as Markdown, one heading per field."""
    fields = osf_fields(design, places, powers)
    return "\n\n".join(f"## {name}\n\n{text or _OPEN}" for name, text in fields.items()) + "\n"


def _piloted(design: Design) -> str:
    return f" (of whom {design.pilot.people} are the pilot)" if design.pilot.people else ""


def _study_design(design: Design) -> str:
    named = "; ".join(f"{FACTORS[name].title}: {', '.join(levels)}" for name, levels in varied_factors(design).items())
    count = len(conditions(design))
    compared = f"{count} conditions, {design.comparison} participants" if count > 1 else "One condition"
    return f"{compared}. {named or 'No factor varies'}. Participants and tasks are random samples."


def _rationale(design: Design, powers: Sequence[Power]) -> str:
    if not powers:
        return _OPEN
    found = "; ".join(f"{one.contrast}: {one.power:.2f} with {one.participants} participants" for one in powers)
    said = procedure.describe_assumptions(design, Assumptions(), powers[0].simulations)
    return f"{said} Power: {found}."
