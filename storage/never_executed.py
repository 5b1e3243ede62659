"""Triggers that block the action of an item with a known answer, for every caller.

An action runs only after its intent is stored, and an agent's check needs a row of `ask`. For a marked trajectory or
item, the triggers block both inserts. The triggers also keep a mark from moving to another trajectory.
"""

from collections.abc import Sequence

REFUSAL = "an item of known answer never executes"

_MARKED = "EXISTS (SELECT 1 FROM seeded_item s WHERE s.trajectory_id = NEW.trajectory_id"
_RAISE = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"

SQLITE: Sequence[str] = (
    f"CREATE TRIGGER never_execute_intent BEFORE INSERT ON intent WHEN {_MARKED}) {_RAISE}",
    f"CREATE TRIGGER never_move_intent BEFORE UPDATE OF trajectory_id ON intent WHEN {_MARKED}) {_RAISE}",
    f"CREATE TRIGGER never_check BEFORE INSERT ON ask WHEN {_MARKED} OR s.item_id = NEW.item_id) {_RAISE}",
    "CREATE TRIGGER never_move_check BEFORE UPDATE OF trajectory_id, item_id ON ask "
    f"WHEN {_MARKED} OR s.item_id = NEW.item_id) {_RAISE}",
    "CREATE TRIGGER never_move_mark BEFORE UPDATE OF item_id, trajectory_id ON seeded_item "
    f"WHEN NEW.item_id <> OLD.item_id OR NEW.trajectory_id <> OLD.trajectory_id {_RAISE}",
)

POSTGRESQL: Sequence[str] = (
    f"""CREATE OR REPLACE FUNCTION never_execute() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT 1 FROM seeded_item s WHERE s.trajectory_id = NEW.trajectory_id
                       OR s.item_id = (to_jsonb(NEW)->>'item_id')::integer) THEN
                RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""",
    f"""CREATE OR REPLACE FUNCTION never_move_mark() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation';
        END $$""",
    "CREATE OR REPLACE TRIGGER never_execute BEFORE INSERT OR UPDATE OF trajectory_id ON intent "
    "FOR EACH ROW EXECUTE FUNCTION never_execute()",
    "CREATE OR REPLACE TRIGGER never_check BEFORE INSERT OR UPDATE OF trajectory_id, item_id ON ask "
    "FOR EACH ROW EXECUTE FUNCTION never_execute()",
    "CREATE OR REPLACE TRIGGER never_move_mark BEFORE UPDATE OF item_id, trajectory_id ON seeded_item "
    "FOR EACH ROW EXECUTE FUNCTION never_move_mark()",
)
"""The triggers for PostgreSQL; do not write a `%`, because the driver reads it as a parameter."""
