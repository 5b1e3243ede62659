"""The stored allocation is the one that the design gives."""

from console import database
from console.designs import allocate, sample_tasks
from console.designs.files import example, load
from console.studies import creating, listing, sources


def test_stored_places_are_those_that_the_design_gives():
    design = load(example())
    creating.create(design, 1_000)
    with database.reading() as session:
        study = creating.get(session, "pilot")
        stored = listing.places(session, study)
        keys = sources.keys(session, design)
        row = listing.summary(session, study)
    assert stored == allocate(design, sample_tasks(design, keys))
    assert (row["participants"], row["joined"], row["finished"], row["tasks"]) == (6, 0, 0, 40)
