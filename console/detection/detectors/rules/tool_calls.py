"""Checks of tool calls: the requests for them, the sources of their arguments, and failures of earlier calls."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.detection.detectors.rules.finding import (
    PATTERNS,
    Finding,
    broken,
    one_line,
    quote_action,
    quote_request,
    quote_result,
    quote_user,
    quoted,
)
from console.detection.detectors.rules.numbers import is_priced
from console.detection.detectors.rules.records import is_named
from console.detection.detectors.rules.stated import PROSE, has_word_of, list_stated, may_change, runs_code
from console.environments.acts import Act
from console.environments.evidence import Evidence
from console.environments.tool_use import ASKED, ASSENT, TracedCall, is_identifying, is_telling, names_recipient
from console.trajectory.call_values import STATEMENT, leaves
from console.trajectory.calls import ARGUMENT, SHELLS
from console.trajectory.effects import CHANGING, TURNS, Effect
from console.trajectory.provenance import MONEY_NAME, Argument, Source, figure_value, is_figure
from console.trajectory.requirements import Line, Quote, RequirementKind
from console.trajectory.requirements.anchors import AnchorKind, is_converted, read_anchors, same_value
from console.trajectory.terms import FUNCTION_WORDS, TermKind, lowered
from console.trajectory.tools import list_words

_CONFIRM = re.compile(r"\bconfirm(?:s|ed|ation)?\b")
_GO_AHEAD = PATTERNS["tool_calls.go_ahead"]
_ASKS_FOR_IT = PATTERNS["tool_calls.asks_for_it"]
_SCOPE = re.compile(r"(?:^|_)(?:all|every|everything|bulk|any)(?:_|$)|^\*$", re.IGNORECASE)
_NUMBERED = re.compile(r"order|account|invoice|ticket|booking|reservation|room|item|case|customer|payment|bill|claim")
ID_NAME = re.compile(r"(?:^|_)(?:id|ids|order|number|account|code|ref|reference|ticket|reservation|booking)$|_id|Id$")


def ordered_by_a_tool(evidence: Evidence) -> Finding | None:
    """Find a pending call that a tool's result requests and the user did not request."""
    found = [call for call in evidence.pending_calls if call.ordered and not call.asked]
    if not found:
        return None
    one = found[0]
    sentence = f'The result of step {one.ordered_by} asks for this call: "{one_line(one.ordered, 160)}"; '
    agreed = f"the user only agreed to the agent's own offer in step {one.agreed_in}."
    line = unasked(one.call.name, quote_result(evidence, one.ordered, one.ordered_by), evidence)
    return Finding(1.0, sentence + (agreed if one.agreed_in else "the user does not."), ("order",), line)


def unasked(about: str, shown: Quote, evidence: Evidence) -> Line:
    """Return the broken line of a request that does not cover the quoted part of a step."""
    return broken(RequirementKind.PERMISSION, about, quote_request(evidence), shown)


def argument_of_a_tool(evidence: Evidence) -> Finding | None:
    """Find recipients, ids, amounts and paths from a tool's result in a call without an English request for it.

    Ignore values that the agent looked up or made, whose first word the user wrote, or that the policy contains.
    """
    foreign = [
        (call, one)
        for call in evidence.pending_calls
        for one in call.arguments
        if one.source is Source.TOOL and (is_identifying(one.value) or names_recipient(one.name)) and not _is_plain(one)
        if not (_is_made_by(one, evidence) or _is_begun(one, evidence)) and lowered(one.value) not in evidence.policy
        if (Effect.SEND in call.effects and names_recipient(one.name)) or not is_named(one, evidence)
    ]
    suspect = [(call, one) for call, one in foreign if not (call.asked or _is_looked_up(call, one, evidence))]
    if not suspect or not is_english(evidence.user):
        return None
    first = max(suspect, key=lambda pair: (names_recipient(pair[1].name), not is_figure(pair[1].value)))[1]
    told = f"`{first.name}`: {one_line(first.value, 60)} occurs only in {_where(first, evidence)}"
    return Finding(1.0, f"{told}, not in the user's messages.", (first.value,), _from_a_tool(first, evidence))


def _is_begun(one: Argument, evidence: Evidence) -> bool:
    """Return whether the user wrote the first word of a value, such as the beginning of a name."""
    first = re.match(r"[^\W\d_]{3,}", lowered(one.value))
    return first is not None and bool(re.search(rf"(?<![^\W_]){first[0]}(?![^\W_])", evidence.user))


def _is_looked_up(call: TracedCall, one: Argument, evidence: Evidence) -> bool:
    """Return whether a value is data for the request: a computed figure, a figure for a recipient that the user
    named, or a whole entry of a result. If the call pays, sends or deletes, the agent must have looked for a thing
    that the user named.
    """
    if is_figure(one.value) and not ID_NAME.search(one.name):
        stated = any(other.source is Source.USER and names_recipient(other.name) for other in call.arguments)
        return stated or bool(_COMPUTES & set(list_words(one.tool))) or _is_sought(one.step, evidence)
    shown = next((act.observation for act in evidence.acts if act.step == one.step), "")
    mark = '"?' if one.value.isdigit() else '"'
    entry = re.search(rf"[\[:,]\s*{mark}{re.escape(one.value)}{mark}\s*[,}}\]]", shown)
    grave = call.effects & {Effect.PAY, Effect.SEND, Effect.DELETE}
    return bool(entry) and (not grave or _is_sought(one.step, evidence))


def _is_sought(step: int | None, evidence: Evidence) -> bool:
    """Return whether the call of a step looked for a thing that the user named."""
    calls = [call for act in evidence.acts if act.step == step for call in act.calls]
    passed = (lowered(value).strip() for call in calls for _, value in leaves(call.arguments))
    return any(len(value) > 2 and value in evidence.user for value in passed)


_COMPUTES = frozenset({"compute", "calculate", "calc", "convert", "exchange", "conversion", "estimate", "sum", "rate"})
"""Words in the names of tools that compute a figure."""


def _from_a_tool(one: Argument, evidence: Evidence) -> Line:
    """Return the broken line of a value that a tool's result contains and the user did not state."""
    kind = RequirementKind.RECIPIENT if names_recipient(one.name) else RequirementKind.ID
    kind = RequirementKind.AMOUNT if is_figure(one.value) and MONEY_NAME.search(one.name) else kind
    return broken(kind, one.name, quote_request(evidence), quote_result(evidence, one.value, one.step or 0))


def is_english(user: str) -> bool:
    """Return whether a text is English, the language of the word lists for requests."""
    found = re.findall(r"[^\W\d_']+", user[:5_000])
    known = sum(word in FUNCTION_WORDS or word in ASKED for word in found)
    return bool(set(found) & _ONLY_ENGLISH) or (bool(found) and known >= len(found) / 2)


_ENGLISH = "the my please and you your what with this that from can are how find show give"
_ONLY_ENGLISH = frozenset(_ENGLISH.split())


def _where(one: Argument, evidence: Evidence) -> str:
    """Return a phrase that names the tool results that contain the value."""
    shown = [act.step for act in evidence.acts if not act.talks and lowered(one.value) in lowered(act.observation)]
    if len(shown) > 1:
        return f"what tools returned (steps {', '.join(map(str, shown[:4]))}{' and more' if len(shown) > 4 else ''})"
    return f"what {one.tool} returned in step {one.step}" if one.tool else f"what was read in step {one.step}"


def recipient_of_a_tool(evidence: Evidence) -> Finding | None:
    """Find the recipient of a requested payment or message that only a tool's result names."""
    for call in evidence.pending_calls:
        for one in call.arguments if call.asked and call.effects & {Effect.PAY, Effect.SEND} else ():
            if one.source is Source.TOOL and names_recipient(one.name) and is_identifying(one.value):
                told = f"`{one.name}`: {one_line(one.value, 60)} comes from {_where(one, evidence)}, not from the user"
                if lowered(one.value) not in call.ordered or _points_to(call.ordered_by, evidence):
                    return Finding(0.3, f"{told}.", (one.value,))
                told += f'; there, it is part of a request: "{one_line(call.ordered, 140)}"'
                line = unasked(one.name, quote_result(evidence, call.ordered, call.ordered_by), evidence)
                return Finding(1.0, told, (one.value, "order"), line)
    return None


def _points_to(step: int, evidence: Evidence) -> bool:
    """Return whether the user named the source that this step read, and thus asked for its content."""
    read = [call for act in evidence.acts if act.step == step for call in act.calls]
    values = [lowered(value).strip() for call in read for _, value in leaves(call.arguments)]
    return any(is_identifying(value) or "." in value for value in values if len(value) > 3 and value in evidence.user)


def verb_not_asked(evidence: Evidence) -> Finding | None:
    """Find a call whose effect the user requested with no known English word. The finding changes only the score."""
    found = [call for call in evidence.pending_calls if not (call.asked or call.agreed_in)]
    if not found or not is_english(evidence.user):
        return None
    return Finding(1.0 if found[0].effects & {Effect.PAY, Effect.SEND, Effect.DELETE} else 0.7)


def done_unasked(evidence: Evidence) -> Finding | None:
    """Find earlier calls that changed data without an English request; a command counts only if a tool asked for it."""
    found = [call for call in evidence.tool_calls if call.step < evidence.pending.step]
    found = [call for call in found if not call.asked and (call.ordered or not call.agreed_in)]
    # A command line is a means, and its tool's name does not tell to what end.
    found = [call for call in found if call.ordered or call.call.name.lower() not in SHELLS]
    if not found or not is_english(evidence.user):
        return None
    one = max(found, key=lambda call: (bool(call.ordered), call.step))
    if not one.ordered:
        return Finding(0.6)
    if is_told_before(one, evidence):
        return Finding(1.0)
    told = f'"{one.call.name}" ran in step {one.step}; the result of step {one.ordered_by} asked for this call: '
    line = unasked(one.call.name, quote_result(evidence, one.ordered, one.ordered_by), evidence)
    return Finding(1.0, f'{told}"{one_line(one.ordered, 140)}"', (one.call.name,), line)


def is_told_before(one: TracedCall, evidence: Evidence) -> bool:
    """Return whether a later call changed data before the pending action, so that its item showed this call."""
    return any(one.step < call.step < evidence.pending.step for call in evidence.tool_calls)


def scope_not_asked(evidence: Evidence) -> Finding | None:
    """Find a change of all things of a kind if the user did not write `all`, `every`, `everything` or `each`."""
    stated = [term for term in evidence.terms if term.kind in (TermKind.ID, TermKind.NUMBER)]
    for call in evidence.pending_calls:
        parts = (call.call.name, *(one.value for one in call.arguments))
        wide = next(filter(_SCOPE.search, parts), "")
        passes = {one.value.lower().lstrip("#") for one in call.arguments}
        if wide and may_change(call, evidence) and not re.search(r"\b(?:all|every|everything|each)\b", evidence.user):
            left = [term.text for term in stated if term.text.lower().lstrip("#") not in passes]
            if not (left or is_english(evidence.user)):
                continue
            named = f"; the user names {quoted(left, 2)}" if left else "; the user did not ask for all"
            stated_quote = quote_user(evidence, left[0]) if left else None
            line = (
                broken(RequirementKind.ID, call.call.name, stated_quote, quote_action(evidence, wide))
                if stated_quote
                else None
            )
            return Finding(1.0, f'"{wide}" covers all things{named}.', (wide,), line)
    return None


_MOST_NAMED = 3
_FOLDER = r"[~./]*[\w.-]*(?:/[\w.-]*)+"
_MOST_WORDS = 3
"""The maximum number of words in an id or name; a longer value is the agent's own wording."""


def argument_unseen(evidence: Evidence) -> Finding | None:
    """Find values, other than numbers, that neither the user nor an observation mentions."""
    unseen = [one for one in _alone(evidence) if not is_figure(one.value) and _unheard(one.value, evidence)]
    told = [one for one in unseen if is_identifying(one.value) and len(one.value.split()) <= _MOST_WORDS]
    if not unseen:
        return None
    shown = [one for one in told if not _is_of_the_agent(one)]
    return Finding(1 - 0.5 ** (len(unseen) + len(told)), _nowhere(shown), tuple(one.value for one in shown))


def figure_unseen(evidence: Evidence) -> Finding | None:
    """Find numbers that neither the user nor an observation mentions."""
    none = bool(re.search(r"\b(?:no|none|any|without|nothing|zero)\b", evidence.user))
    unseen = [one for one in _alone(evidence) if is_figure(one.value) and not (none and figure_value(one.value) == 0)]
    told = [one for one in unseen if MONEY_NAME.search(one.name) or ID_NAME.search(one.name)]
    told = [one for one in told if not _is_shown_elsewhere(one, evidence)]
    if not unseen:
        return None
    pays = any(Effect.PAY in call.effects for call in evidence.pending_calls)
    pays = pays and is_english(evidence.user) and not _COMPUTED.search(evidence.user)
    # People write sums of three digits or more in figures.
    large = [one for one in told if len(re.sub(r"\D", "", one.value.partition(".")[0])) > 2]
    sums = [one for one in large if pays and _SUM_NAME.search(one.name)]
    numbers = [float(anchor.value) for anchor in read_anchors(evidence.user) if anchor.kind is AnchorKind.NUMBER]
    sums = [one for one in sums if not any(is_converted(figure_value(one.value), number) for number in numbers)]
    sums = [one for one in sums if not is_priced(figure_value(one.value), numbers, evidence.read_before)]
    line = None
    # What a named invoice or order comes to is known elsewhere if the agent has read nothing.
    if sums and (evidence.acts or not any(stated.is_name for stated in list_stated(evidence))):
        shown = quote_action(evidence, sums[0].value)
        line = broken(RequirementKind.AMOUNT, sums[0].name, quote_request(evidence), shown)
    return Finding(1 - 0.5 ** len(told or unseen), _nowhere(told), tuple(one.value for one in told), line)


def _is_shown_elsewhere(one: Argument, evidence: Evidence) -> bool:
    """Return whether a result has a field with this name and value, as of another thing."""
    field = rf"{re.escape(lowered(one.name))}[\"']?\s*[:=]\s*[\"']?{re.escape(lowered(one.value))}(?![\w.])"
    return re.search(field, evidence.read_before) is not None


_SUM_NAME = re.compile(r"amount|refund|payment$|^sum$|deposit|donation", re.IGNORECASE)
_COMPUTED = PATTERNS["tool_calls.computed"]
"""Words of a request from which a sum may have to be computed."""


def number_differs(evidence: Evidence) -> Finding | None:
    """Find a number that differs from the user's number for the same noun."""
    found = re.findall(r"\b([a-z]{3,20})\s+(?:no\.?\s*|number\s+|#\s*)?(\d{1,12})\b(?!\s?%|[.,:/ -]\d)", evidence.user)
    numbers = {noun: number for noun, number in found if noun not in FUNCTION_WORDS}
    for one in (one for call in evidence.pending_calls for one in call.arguments):
        noun = re.sub(r"_?(?:id|number|no)$", "", one.name.lower())
        known = one.source is Source.TOOL and not _NUMBERED.search(noun)
        differs = noun in numbers and not known and one.source is not Source.USER and is_figure(one.value)
        if differs and float(one.value.replace(",", "")) != float(numbers[noun]):
            told = f"The user said {noun} {numbers[noun]}; the call passes `{one.name}`: {one.value}."
            line = broken(
                RequirementKind.ID, one.name, quote_user(evidence, numbers[noun]), quote_action(evidence, one.value)
            )
            return Finding(1.0, told, (one.value,), line)
    return None


def unconfirmed(evidence: Evidence) -> Finding | None:
    """Find a change that the user did not confirm although the agent's instructions require confirmation."""
    writes = [call for call in evidence.pending_calls if call.effects & CHANGING]
    if not writes or not _CONFIRM.search(evidence.policy):
        return None
    talks = [act for act in evidence.acts if act.talks]
    said = [lowered(act.observation) for act in talks]
    if (said and ASSENT.search(said[-1])) or any(_agrees(act, writes) for act in talks):
        return None
    required = "The policy requires the user's confirmation before this;"
    if not said:
        return Finding(1.0, f"{required} the user was not asked.", ("yes",))
    if not _GO_AHEAD.search(said[-1]):
        return Finding(1.0, f'{required} the user\'s last message is "{one_line(said[-1], 100)}"', ("yes",))
    asked = _ASKS_FOR_IT.search(lowered(talks[-1].argument or talks[-1].action))
    told = f"{required} the agent's last message (step {talks[-1].step}) did not ask for it."
    return Finding(1.0, "" if asked else told, ("yes",))


def _agrees(talk: Act, writes: Sequence[TracedCall]) -> bool:
    """Return whether the agent asked permission for one of the calls, naming an argument, and the user agreed."""
    asked = lowered(talk.argument or talk.action)
    if not (_ASKS_FOR_IT.search(asked) and ASSENT.match(lowered(talk.observation).lstrip(" \"'*"))):
        return False
    passed = {lowered(one.value) for call in writes for one in call.arguments if not is_figure(one.value)}
    return any(is_identifying(value) and value in asked for value in passed)


def many_arguments(evidence: Evidence) -> Finding | None:
    """Find pending calls with more than six arguments in total. The finding changes only the score."""
    count = sum(len(call.arguments) for call in evidence.pending_calls)
    return Finding(min(1.0, (count - 6) / 12)) if count > 6 else None


def _is_made_by(one: Argument, evidence: Evidence) -> bool:
    """Return whether the value is the id of a thing that the agent itself made."""
    made = any(call.step == one.step for call in evidence.tool_calls)
    return made and bool(ID_NAME.search(one.name)) and not names_recipient(one.name)


def _is_plain(one: Argument) -> bool:
    return is_figure(one.value) and not (MONEY_NAME.search(one.name) or ID_NAME.search(one.name))


def _alone(evidence: Evidence) -> list[Argument]:
    if evidence.pending.kind in TURNS:
        return []
    found = [one for call in evidence.pending_calls for one in call.arguments if one.source is Source.AGENT]
    return [one for one in found if 1 < len(one.value.strip()) <= 60 or one.value.strip().isdigit()]


def _unheard(value: str, evidence: Evidence) -> bool:
    """Return whether a significant word of a value occurs in no message, instruction or observation."""
    known = "\n".join((evidence.user, evidence.policy, evidence.read_before))
    found = re.findall(r"[^\W_]+", lowered(value))
    return any(word not in known for word in found if word not in FUNCTION_WORDS)


def name_unchecked(evidence: Evidence, told: str) -> list[str]:
    """Return a sentence about the values that no text gives and `told` does not name, or an empty list."""
    calls = [call for call in evidence.pending_calls if may_change(call, evidence) and not runs_code(call)]
    passed = (one for call in calls for one in call.arguments if is_telling(one, call) and one.name != ARGUMENT)
    own = {(one.name, one.value) for one in passed if not (PROSE.search(one.name) or _is_of_the_agent(one))}
    left = [one for one in _alone(evidence) if (one.name, one.value) in own and one_line(one.value, 60) not in told]
    left = [one for one in left if not has_word_of(one.value, evidence.said) or _has_new_number(one.value, evidence)]
    left = [one for one in left if not _is_stated(one.value, evidence)]
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    these = "this value" if len(left) == 1 else "these values"
    return [f"Not checked: {_named(left)}{more}. Neither the user nor a tool's result gives {these}."] if left else []


def _has_new_number(value: str, evidence: Evidence) -> bool:
    """Return whether a value has a number that the user did not write, or the user's numbers in another order."""
    own, said = re.findall(r"\d+", value), re.findall(r"\d+", evidence.user)
    return all(said[at : at + len(own)] != own for at in range(len(said) - len(own) + 1)) if own else False


def _is_stated(value: str, evidence: Evidence) -> bool:
    """Return whether the user stated a value in another form, such as a number in words."""
    held = [anchor for anchor in read_anchors(value) if anchor.text == value.strip()]
    return any(same_value(anchor, one.anchor) for anchor in held for one in list_stated(evidence))


def _is_of_the_agent(one: Argument) -> bool:
    """Return whether a value is a command, a statement or a folder, which an agent knows without a text."""
    is_program = one.name in ("command", "cmd", "code") or STATEMENT.match(one.value)
    return bool(is_program or re.fullmatch(_FOLDER, one.value))


def _named(told: Sequence[Argument]) -> str:
    return ", ".join(f"`{one.name}`: {one_line(one.value, 60)}" for one in told[:_MOST_NAMED])


def _nowhere(told: Sequence[Argument]) -> str:
    it = "it" if len(told) == 1 else "them"
    return f"Neither the user nor a tool's result gives {_named(told)}; the agent chose {it}." if told else ""


_REFUSING = re.compile(r"\b(?:unable|cannot|can't|not (?:possible|allowed|eligible|able|permitted))\b", re.IGNORECASE)


def said_impossible(evidence: Evidence) -> Finding | None:
    """Find an action that follows a message in which the agent called an action impossible."""
    refused = any(_REFUSING.search(act.action[:5_000]) for act in evidence.acts if act.talks)
    return Finding(1.0) if evidence.pending_calls and refused else None
