"""Patterns for replies that decline to answer in words, in many languages."""

from __future__ import annotations

import re

from console.llm.messages import Reply

_LABELLED = re.compile(
    r"^\W*(?:verdict|answer|step\s*\d+|task|reason|status)\b.{0,20}[:=]", re.IGNORECASE | re.MULTILINE
)
_LONGEST_REFUSAL, _OPENING, _SHOWN = 1_500, 300, 120
_REFUSALS = (
    r"\b(?:i'?m|i am|we'?re|we are) (?:\w+ )?(?:sorry|afraid)\b.{0,80}\b(?:can(?:'?t|not)|unable|not able|won'?t)\b",
    r"\b(?:i|we) (?:can(?:'?t|not)|can not|won'?t|will not|(?:a|')m (?:unable|not able) to|(?:must )?decline|refuse)"
    r"\b.{0,40}\b(?:assist|help|comply|provide|answer|judge|evaluat|fulfil|continu|participat|engag|discuss|complet|do)",
    r"\bas an? (?:ai|language|large)\b.{0,60}\b(?:can(?:'?t|not)|unable|not able)\b",
    r"\b(?:against|violates?) (?:my|our|the) (?:\w+ )?(?:guidelines|polic|rules|principles)",
    r"(?:tut mir leid|entschuldig|bedauere).{0,80}\b(?:nicht|kein)",
    r"\bich kann .{0,60}\bnicht (?:helfen|beantwort|beurteil)",
    r"(?:désolée?|regrette).{0,80}\b(?:peux|puis|pas)\b|\bje ne peux pas (?:aider|répondre|vous|t'|évaluer|fournir)",
    r"(?:lo siento|lamento).{0,80}\bno puedo\b|\bno puedo (?:ayudar|responder|cumplir|evaluar|asistir)",
    r"(?:mi dispiace|spiacente).{0,80}\bnon (?:posso|sono in grado)|\bnon posso (?:aiutar|risponder|valutar|assister)",
    r"(?:desculpe|lamento|sinto muito).{0,80}\bnão posso\b|\bnão posso (?:ajudar|responder|avaliar|atender)",
    r"het spijt me.{0,80}\b(?:niet|geen)\b|\bik kan .{0,40}\bniet (?:helpen|beantwoorden|beoordelen)",
    r"(?:przykro mi|przepraszam).{0,80}\bnie mogę\b|\bnie mogę (?:pomóc|odpowiedzieć|ocenić|spełnić)",
    r"(?:извините|простите|к сожалению|прошу прощения).{0,80}не (?:могу|можем)",
    r"не могу (?:помочь|ответить|выполнить|оценить)",
    r"(?:抱歉|对不起|很遗憾|遗憾).{0,40}(?:不能|无法|不便)|我(?:不能|无法)(?:帮助|协助|回答|提供|评估|满足)",
    r"(?:申し訳|すみません|ごめん|恐れ入り).{0,60}(?:ません|かねます)|(?:お答え|お手伝い|対応|回答)(?:は)?でき(?:ません|かねます)",
    r"(?:죄송|미안|유감).{0,60}(?:없습니다|없어요|수 없|어렵)",
)
_REFUSAL = re.compile("|".join(_REFUSALS), re.IGNORECASE | re.DOTALL)


def find_refusal(reply: Reply) -> str:
    """Return the first sentence of a reply that declines to answer in words, or "" for any other reply."""
    texts = [text.strip() for text in reply.texts]
    if not all(is_refusal(text) for text in texts):
        return ""
    first = " ".join(re.split(r"(?<=[.!?。！？])\s*", texts[0], maxsplit=1)[0].split())
    return first if len(first) <= _SHOWN else first[: _SHOWN - 1].rstrip() + "…"


def is_refusal(text: str) -> bool:
    """Return whether a reply declines to answer in words."""
    plain = text[:_OPENING].replace("’", "'")
    return 0 < len(text) <= _LONGEST_REFUSAL and bool(_REFUSAL.search(plain)) and not _LABELLED.search(text)
