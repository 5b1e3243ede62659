"""Bands and their albums."""

from __future__ import annotations

from console.environments.hotpotqa.schema import EntityKind, Relation

BAND = EntityKind(
    "band",
    24,
    "bands",
    "the band {x}",
    "band",
    ("{x} are a rock band.", "{x} are a folk and brass band.", "{x} are a band with two drummers."),
    (
        "Their concerts rarely last longer than an hour.",
        "The stage clothes are sewn by a cousin of the drummer.",
        "A first demo tape was sold at petrol stations.",
        "They tour by train whenever there is a line.",
        "Critics have called the sound both stubborn and kind.",
        "Several songs are about weather reports.",
        "They stopped for two years and came back with a louder organ.",
    ),
    (
        Relation(
            "town",
            "In which town was {x} formed?",
            "formed",
            ("{x} were formed in {v}.", "The group was formed in {v}."),
            target="town",
            noun="the town where {x} was formed",
            trap="Their rehearsal room is in {o}.",
            same="Were {a} and {b} formed in the same town?",
        ),
        Relation(
            "formed",
            "In what year was {x} formed?",
            "formed",
            ("{x} formed in the spring of {v}.", "The year in which they formed is {v}."),
            numbers=range(1976, 1996),
            first="Which band was formed first, {a} or {b}?",
        ),
        Relation(
            "singer",
            "Who is the lead singer of {x}?",
            "lead singer",
            ("The lead singer is {v}.", "{v} is the lead singer of {x}."),
            target="singer",
            noun="the lead singer of {x}",
            trap="{o} sang with them as a guest.",
        ),
        Relation(
            "label",
            "Which record label publishes the music of {x}?",
            "record label",
            ("Their music is published by the record label {v}.", "{x} have a contract with the record label {v}."),
            target="record label",
            noun="the record label of {x}",
            deep=True,
            same="Are {a} and {b} on the same record label?",
        ),
    ),
)

ALBUM = EntityKind(
    "album",
    30,
    "titles",
    "the album {x}",
    "album",
    ("{x} is an album with eleven songs.", "{x} is a studio album.", "{x} is an album recorded almost live."),
    (
        "The cover shows an empty railway platform.",
        "Two of the songs are instrumental.",
        "It sold slowly at first and never quite stopped.",
        "A school choir can be heard on the last song.",
        "The lyrics were printed on a separate sheet.",
        "Most of it was recorded at night.",
        "One song was left out because a lawyer asked for it.",
    ),
    (
        Relation(
            "band",
            "Which band recorded {x}?",
            "band",
            ("{x} was recorded by the band {v}.", "It is the work of the band {v}."),
            target="band",
            noun="the band that recorded {x}",
        ),
        Relation(
            "released",
            "In what year was {x} released?",
            "released",
            ("It was released in {v}.", "{x} was released in {v} on vinyl and tape."),
            numbers=range(1997, 2012),
            first="Which album was released first, {a} or {b}?",
        ),
        Relation(
            "producer",
            "Who produced {x}?",
            "produce",
            ("{v} produced {x}.", "The producer was {v}."),
            target="record producer",
            noun="the producer of {x}",
            deep=True,
            trap="{o} mixed two of the songs.",
            same="Were {a} and {b} produced by the same person?",
        ),
    ),
)

MUSIC = (BAND, ALBUM)
