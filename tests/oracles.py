"""Oracles of the embedded environments: the actions of somebody who knows how each task is done."""

from console.environments.alfworld.tasks import furnish, plan, task_setup
from console.environments.hotpotqa.almanac import embedded_corpus
from console.environments.hotpotqa.corpus import SHOWN_SENTENCES
from console.environments.hotpotqa.tasks import corpus_of
from console.environments.webshop.tasks import goal_of
from console.environments.webshop.world import search


def shopping(task):
    """From the start page to a purchase worth 1.0: at most 8 actions; raises BadInput as `start`.

    The search is the target's title where that brings it among the first three results, else its model number too.
    """
    goal = goal_of(task.gold)
    options = (f"click[{value}]" for value in goal.options.values())
    return (f"search[{_query(goal.target)}]", f"click[{goal.target.asin}]", *options, "click[Buy Now]")


def answering(task):
    """From the first search to the right answer, by way of every supporting fact."""
    file = task.options.get("corpus")
    corpus = corpus_of(str(file)) if file else embedded_corpus()
    actions, opened = [], ""
    for fact in task.gold["supporting_facts"]:
        page = corpus.pages[fact["title"]]
        if page.title != opened:
            actions.append(f"Search[{page.title}]")
            opened = page.title
        if fact["sentence"] not in page.sentences[:SHOWN_SENTENCES]:
            actions.append(f"Lookup[{_keyword(page, fact)}]")
    return [*actions, f"Finish[{task.gold['answer']}]"]


def tidying(task):
    """What does the task in its household; raises BadInput where it is not a household task."""
    setup = task_setup(task.options)
    return plan(setup, furnish(setup))


def _query(target):
    if target.asin in search(target.title)[:3]:
        return target.title
    return target.description.rpartition(": ")[2].rstrip(".").replace("-", " ")


def _keyword(page, fact):
    sentence, words = fact["sentence"], fact["sentence"].split()
    openings = (" ".join(words[:count]) for count in range(1, len(words)))
    parts = [fact["keyword"], *openings] if "keyword" in fact else openings
    return next((part for part in parts if page.lookup(part)[:1] == [sentence]), sentence)
