"""The new epoch of a restore: its changes to the restored copy before the copy replaces the database.

The restore changes the data itself, so that later code does not have to compare epochs. It voids approvals, ends access
or copies it from the replaced database, and carries over newer actions and rejections.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine, event
from sqlmodel import Session

from storage import audit_chain
from storage.engine import Durability, configure
from storage.errors import StorageError
from storage.linked_rows import note_changes_sqlite
from storage.queue.claims import withdraw_items
from storage.queue.transaction import Transaction
from storage.tables import IS_CURRENT, ItemStatus, Table
from storage.tables.people import ENDED

VOID = "void"
"""Answer of a check whose approval or wait ended with a restore."""

_ENDED = f"'{ENDED}' || hex(randomblob(16))"
_HAS_BEGUN = "EXISTS (SELECT 1 FROM main.intent i WHERE i.trajectory_id = a.trajectory_id AND i.step = a.step)"

# A check that the backup knows keeps its row; only its beginning is added.
_CARRY_INTENTS = f"""
INSERT INTO main.intent (trajectory_id, step, action, action_digest, decision_id, started_ms, finished_ms)
SELECT a.trajectory_id, a.step, since.action, since.action_digest,
       (SELECT d.id FROM main.decision d JOIN replaced.decision rd ON rd.submit_key = d.submit_key
        WHERE rd.id = since.decision_id), since.started_ms, since.finished_ms
FROM main.ask a JOIN replaced.ask ra ON ra.token = a.token
JOIN replaced.intent since ON since.trajectory_id = ra.trajectory_id AND since.step = ra.step
WHERE NOT {_HAS_BEGUN}"""

_CARRY_ANSWERS = f"""
UPDATE main.ask AS a SET answer = ra.answer, answered_ms = ra.answered_ms, action = ra.action
FROM replaced.ask ra WHERE ra.token = a.token AND (a.answer IS NULL OR a.action IS NULL) AND {_HAS_BEGUN}"""

_CARRY = """
INSERT OR IGNORE INTO main.carried_check (run, token, digest, agent_id, task_key, instruction_digest, trial, step,
                                          action_digest, begun, answer, feedback_text, reason_codes, marked_steps,
                                          at_ms)
SELECT r.name, a.token,
       CASE WHEN instr(a.digest, ':') THEN substr(a.digest, 1, instr(a.digest, ':') - 1) ELSE a.digest END,
       (SELECT m.id FROM main.agent m JOIN {schema}.agent g ON g.name_key = m.name_key WHERE g.id = a.agent_id),
       k.task_key, k.instruction_digest, t.trial, a.step, since.action_digest, since.begun, a.answer,
       since.feedback_text, since.reason_codes, since.marked_steps, a.asked_ms
FROM ({since}) since JOIN {schema}.ask a ON a.id = since.ask_id JOIN {schema}.run r ON r.id = a.run_id
JOIN {schema}.trajectory t ON t.id = a.trajectory_id JOIN {schema}.task k ON k.id = t.task_id"""

_BEGUN = """
SELECT n.id AS ask_id, true AS begun, coalesce(d.action_digest, i.action_digest) AS action_digest,
       coalesce(d.feedback_text, '') AS feedback_text, coalesce(d.reason_codes, '') AS reason_codes,
       d.marked_steps
FROM replaced.ask n JOIN replaced.intent i ON i.trajectory_id = n.trajectory_id AND i.step = n.step
LEFT JOIN replaced.decision d ON d.id = i.decision_id WHERE n.token NOT IN (SELECT token FROM main.ask)"""

# Also of the backup itself: a rejection that could still be undone was not yet the check's answer.
_REJECTED = f"""
SELECT n.id AS ask_id, false AS begun, d.action_digest, d.feedback_text, d.reason_codes, d.marked_steps
FROM {{schema}}.ask n JOIN {{schema}}.decision d ON d.item_id = n.item_id
WHERE (n.answer IS NULL OR n.answer = 'rejected')
  AND d.id IN (SELECT max(id) FROM {{schema}}.decision WHERE decision = 'reject' AND {IS_CURRENT} GROUP BY item_id)
  AND d.submit_key NOT IN (SELECT submit_key FROM replaced.decision WHERE superseded)
  AND n.token NOT IN (SELECT token FROM main.ask WHERE answer = 'rejected')"""

_CARRY_CARRIED = """
INSERT OR IGNORE INTO main.carried_check ({names})
SELECT {names} FROM replaced.carried_check WHERE token NOT IN (SELECT token FROM main.ask)"""

# Of a check that only the replaced database has, the use counts without its token.
_CARRY_USES = """
INSERT INTO main.limit_use (run_id, scope, rule, counted_by, amount, token, at_ms)
SELECT m.id, u.scope, u.rule, u.counted_by, u.amount, NULL, u.at_ms
FROM replaced.limit_use u JOIN replaced.run r ON r.id = u.run_id JOIN main.run m ON m.name = r.name
WHERE (u.token IS NULL OR u.token IN (SELECT token FROM main.carried_check WHERE begun))
  AND NOT EXISTS (SELECT 1 FROM main.limit_use x WHERE x.id = u.id AND x.at_ms = u.at_ms AND x.scope = u.scope
                  AND x.rule = u.rule AND x.counted_by = u.counted_by)"""

_VOID = f"""
UPDATE main.ask AS a SET answer = '{VOID}', answered_ms = :now_ms, action = NULL
WHERE (a.answer IS NULL OR a.action IS NOT NULL) AND NOT {_HAS_BEGUN}"""

_OPEN_ITEMS = """
SELECT i.id FROM main.item i JOIN main.run r ON r.id = i.run_id
WHERE r.kind = 'gate' AND i.status IN ('pending', 'claimed') ORDER BY i.id"""

_CANCEL_DECIDED = f"""
UPDATE main.item SET status = 'cancelled' WHERE status = 'decided'
AND id IN (SELECT a.item_id FROM main.ask a WHERE a.answer = '{VOID}' OR {_HAS_BEGUN})"""

_CARRY_AGENTS = f"""
INSERT INTO main.agent (id, name, name_key, token_hash, created_ms, disabled_ms, seen_ms)
SELECT CASE WHEN id IN (SELECT id FROM main.agent) THEN NULL ELSE id END, name, name_key, {_ENDED}, created_ms,
       disabled_ms, seen_ms
FROM replaced.agent WHERE name_key NOT IN (SELECT name_key FROM main.agent)
ORDER BY id IN (SELECT id FROM main.agent), id"""

_END_TOKENS = f"""
UPDATE main.agent AS a SET token_hash = {_ENDED}, old_token_hash = NULL, old_until_ms = NULL, disabled_ms = CASE
    WHEN a.disabled_ms IS NULL AND NOT EXISTS (SELECT 1 FROM replaced.agent r WHERE r.name_key = a.name_key)
    THEN :now_ms
    ELSE coalesce(a.disabled_ms, (SELECT r.disabled_ms FROM replaced.agent r WHERE r.name_key = a.name_key)) END"""

_DISABLE = """
UPDATE main.person AS p SET disabled_ms = :now_ms WHERE p.disabled_ms IS NULL
AND NOT EXISTS (SELECT 1 FROM replaced.person r WHERE r.name_key = p.name_key AND r.disabled_ms IS NULL)"""

_LEAVE_GROUPS = """
DELETE FROM main.group_member WHERE id NOT IN (
    SELECT g.id FROM main.group_member g JOIN main.person p ON p.id = g.person_id
    JOIN replaced.person rp ON rp.name_key = p.name_key
    JOIN replaced.group_member r ON r.person_id = rp.id AND r.name_key = g.name_key)"""
_TAKE_GROUPS = """
INSERT OR IGNORE INTO main.group_member (name, name_key, person_id)
SELECT name, name_key, person_id FROM replaced.group_member"""
_OWNERS = """
SELECT a.id, r.owner FROM replaced.agent_owner r JOIN replaced.agent ra ON ra.id = r.agent_id
JOIN main.agent a ON a.name_key = ra.name_key"""
_TAKE_OWNERS = f"""
INSERT INTO main.agent_owner (agent_id, owner) {_OWNERS} WHERE true
ON CONFLICT (agent_id) DO UPDATE SET owner = excluded.owner"""
_DROP_OWNERS = f"DELETE FROM main.agent_owner WHERE agent_id NOT IN (SELECT id FROM ({_OWNERS}))"

_MUTE = """
UPDATE main.notice_channel AS c SET muted = 1 WHERE :all OR NOT EXISTS (
    SELECT 1 FROM replaced.notice_channel r JOIN replaced.person rp ON rp.id = r.person_id
    JOIN main.person p ON p.name_key = rp.name_key
    WHERE p.id = c.person_id AND r.kind = c.kind AND r.address = c.address AND NOT r.muted)"""

_KEEP_HOLDS = """
UPDATE main.{table} AS m SET hold = (SELECT r.hold FROM replaced.{table} r WHERE r.{key} = m.{key})
WHERE m.hold IS NULL AND EXISTS (SELECT 1 FROM replaced.{table} r WHERE r.{key} = m.{key} AND r.hold IS NOT NULL)"""

_PEOPLE = "SELECT name, roles, disabled_ms IS NOT NULL FROM {schema}.person ORDER BY name_key"

_END_SESSIONS = "UPDATE main.person_session SET ended_ms = :now_ms WHERE ended_ms IS NULL AND expires_ms > :now_ms"
_END_INVITATIONS = "UPDATE main.invitation SET expires_ms = :now_ms WHERE used_ms IS NULL AND expires_ms > :now_ms"
_NOT_REPLACED = " AND token_hash NOT IN (SELECT token_hash FROM replaced.{table})"
_END_STUDY_LINKS = f"""
UPDATE main.study_invitation SET token = {_ENDED}
WHERE participant_id IS NULL AND substr(token, 1, {len(ENDED)}) <> '{ENDED}'"""
_UNUSED_IN_BOTH = " AND token NOT IN (SELECT token FROM replaced.study_invitation WHERE participant_id IS NULL)"
_END_PARTICIPANTS = f"""
UPDATE main.participant SET secret = {_ENDED}
WHERE secret IS NOT NULL AND substr(secret, 1, {len(ENDED)}) <> '{ENDED}'
AND secret NOT IN (SELECT secret FROM replaced.participant WHERE secret IS NOT NULL)"""
_CLOSE_STUDIES = """
UPDATE main.study AS s SET status = r.status FROM replaced.study r
WHERE r.name = s.name AND s.status = 'open' AND r.status IN ('paused', 'closed')"""

_POLICIES = """
SELECT coalesce(r.name, '*'), p.version, p.text, p.digest, p.author, p.created_ms
FROM {schema}.policy p LEFT JOIN {schema}.run r ON r.id = p.run_id ORDER BY 1, 2"""
_KEEP_POLICY = """
INSERT INTO main.replaced_policy (epoch, run, version, text, digest, author, created_ms)
VALUES (:epoch, :run, :version, :text, :digest, :author, :created_ms)"""

_LATER_DECISIONS = """
SELECT count(*) FROM replaced.decision WHERE submit_key NOT IN (SELECT submit_key FROM main.decision)"""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The counts of a restore's changes and losses; `people` and `policies` name the people and runs that differ.

    `decisions_lost` counts the decisions that only the replaced file has. `unread` is the reason if the replaced file
    was unreadable, else empty. `changed` holds the accepted audit problems of the backup.
    """

    epoch: int
    checks_void: int
    items_cancelled: int
    begun_carried: int
    rejections_carried: int
    decisions_lost: int
    sessions_ended: int
    links_ended: int
    tokens_ended: int
    people: tuple[str, ...]
    policies: tuple[str, ...]
    access_kept: bool
    unread: str
    changed: tuple[str, ...]


def begin_epoch(
    ready: Path,
    replaced: Path,
    about: Mapping[str, Any],
    *,
    keep_access: bool = False,
    unread: str = "",
    changed: tuple[str, ...] = (),
) -> RestoreReport:
    """Change the restored copy `ready` for its new epoch, in one transaction with the event `about`.

    `replaced` is a migrated copy of the replaced database. If that database was unreadable, `unread` is the reason and
    `replaced` a copy of the backup. With `keep_access`, raise StorageError if people or agents have different ids in
    the two files.
    """
    now_ms = time.time_ns() // 1_000_000
    with _writing(ready, replaced) as session:
        db = Transaction.joined(session)
        epochs = [db.rows(f"SELECT epoch FROM {schema}.database_key")[0][0] for schema in ("main", "replaced")]
        epoch = max(epochs) + 1
        db.run("UPDATE main.database_key SET epoch = :epoch", epoch=epoch)
        differing = _differing_people(db)
        access = _keep_access(db, now_ms) if keep_access and not unread else _end_access(db, now_ms)
        for statement in (_LEAVE_GROUPS, _TAKE_OWNERS, _DROP_OWNERS, _END_PARTICIPANTS):
            db.run(statement)
        db.run(_CLOSE_STUDIES)
        for table, key in (("run", "name"), ("person", "name_key")):
            db.run(_KEEP_HOLDS.format(table=table, key=key))
        # People who muted or removed a channel since the backup are not told again.
        db.run(_MUTE, all=bool(unread))
        found = RestoreReport(
            epoch=epoch,
            **_void_checks(db, now_ms),
            decisions_lost=db.rows(_LATER_DECISIONS)[0][0],
            **access,
            people=differing,
            policies=_keep_policies(db, epoch),
            access_kept=keep_access and not unread,
            unread=unread,
            changed=changed,
        )
        epochs_told = {"before": json.dumps(epoch - 1), "after": json.dumps(epoch)}
        content = {"run_id": None, "at_ms": now_ms, "detail": json.dumps(asdict(found)), **epochs_told, **about}
        audit_chain.append(session.connection(), content)
        audit_chain.link_touched(session.connection().connection.cursor(), server=False)
    return found


@contextmanager
def _writing(ready: Path, replaced: Path) -> Iterator[Session]:
    """Open a write transaction on the restored copy, with the replaced database attached as `replaced`."""

    def attach(connection: Any, _record: object) -> None:
        configure(connection, Durability.NORMAL)
        note_changes_sqlite(connection, None)
        connection.execute("ATTACH DATABASE ? AS replaced", (str(replaced),))

    made = create_engine(f"sqlite:///{ready}", poolclass=NullPool, hide_parameters=True)
    event.listen(made, "connect", attach)
    event.listen(made, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with Session(made) as session, session.begin():
        yield session


def _void_checks(db: Transaction, now_ms: int) -> dict[str, int]:
    """Void every approval and every open check; carry over the actions begun and the rejections since the backup."""
    begun = db.run(_CARRY_INTENTS) + db.run(_CARRY.format(schema="replaced", since=_BEGUN))
    db.run(_CARRY_ANSWERS)
    rejected = sum(
        db.run(_CARRY.format(schema=schema, since=_REJECTED.format(schema=schema))) for schema in ("replaced", "main")
    )
    names = ", ".join(column.name for column in Table.metadata.tables["carried_check"].c if column.name != "id")
    db.run(_CARRY_CARRIED.format(names=names))
    db.run(_CARRY_USES)
    void = db.run(_VOID, now_ms=now_ms)
    pending = [item_id for (item_id,) in db.rows(_OPEN_ITEMS)]
    cancelled = withdraw_items(db, pending, ItemStatus.CANCELLED, now_ms) + db.run(_CANCEL_DECIDED)
    return {"checks_void": void, "items_cancelled": cancelled, "begun_carried": begun, "rejections_carried": rejected}


def _end_access(db: Transaction, now_ms: int) -> dict[str, int]:
    """End sessions, unused links and tokens; reduce each person's access to the roles that both databases grant."""
    db.run(_CARRY_AGENTS)
    db.run(_END_TOKENS, now_ms=now_ms)
    db.run(_DISABLE, now_ms=now_ms)
    shared = "SELECT p.id, p.roles, r.roles FROM main.person p JOIN replaced.person r ON r.name_key = p.name_key"
    for person_id, ours, theirs in db.rows(f"{shared} WHERE p.roles <> r.roles"):
        both = ",".join(sorted({*ours.split(",")} & {*theirs.split(",")}))
        db.run("UPDATE main.person SET roles = :roles WHERE id = :id", roles=both, id=person_id)
    return {
        "sessions_ended": db.run(_END_SESSIONS, now_ms=now_ms),
        "links_ended": db.run(_END_INVITATIONS, now_ms=now_ms) + db.run(_END_STUDY_LINKS),
        "tokens_ended": db.rows("SELECT count(*) FROM main.agent WHERE disabled_ms IS NULL")[0][0],
    }


def _keep_access(db: Transaction, now_ms: int) -> dict[str, int]:
    """Copy people, sessions, invitations and agents from the replaced database."""
    for table in ("person", "agent"):
        _refuse_other_ids(db, table)
    db.run(_END_TOKENS, now_ms=now_ms)
    db.run(_DISABLE, now_ms=now_ms)
    ended = db.run(_END_SESSIONS + _NOT_REPLACED.format(table="person_session"), now_ms=now_ms)
    links = db.run(_END_INVITATIONS + _NOT_REPLACED.format(table="invitation"), now_ms=now_ms)
    for table, key in (("person", "name_key"), ("agent", "name_key")):
        _take_rows(db, table, key, left_out=())
    for table in ("person_session", "invitation"):
        _take_rows(db, table, "token_hash", left_out=("id",))
    db.run(_TAKE_GROUPS)
    links += db.run(_END_STUDY_LINKS + _UNUSED_IN_BOTH)
    gone = f"SELECT count(*) FROM main.agent WHERE substr(token_hash, 1, {len(ENDED)}) = '{ENDED}'"
    return {"sessions_ended": ended, "links_ended": links, "tokens_ended": db.rows(gone)[0][0]}


def _refuse_other_ids(db: Transaction, table: str) -> None:
    same = f"SELECT 1 FROM main.{table} m JOIN replaced.{table} r ON m.id = r.id OR m.name_key = r.name_key"
    if db.rows(f"{same} WHERE (m.id = r.id) <> (m.name_key = r.name_key) LIMIT 1"):
        raise StorageError(
            f"Access cannot be kept, because the row numbers in {table} show that the backup is from another database. "
            "Restore without --keep-access."
        )


def _take_rows(db: Transaction, table: str, key: str, left_out: tuple[str, ...]) -> None:
    names = [column.name for column in Table.metadata.tables[table].c if column.name not in left_out]
    changes = ", ".join(f"{name} = excluded.{name}" for name in names)
    listed = ", ".join(names)
    db.run(
        f"INSERT INTO main.{table} ({listed}) SELECT {listed} FROM replaced.{table} WHERE true "
        f"ON CONFLICT ({key}) DO UPDATE SET {changes}"
    )


def _differing_people(db: Transaction) -> tuple[str, ...]:
    """Return the names of the people who have other roles or another status in the replaced database."""
    ours, theirs = ({row[0]: row[1:] for row in db.rows(_PEOPLE.format(schema=name))} for name in ("main", "replaced"))
    return tuple(name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name))


def _keep_policies(db: Transaction, epoch: int) -> tuple[str, ...]:
    """Keep the replaced database's policies if any differs; return the names of the runs with a different policy."""
    ours, theirs = (_policies(db, schema) for schema in ("main", "replaced"))
    differing = tuple(run for run in sorted({*ours, *theirs}) if _digests(ours, run) != _digests(theirs, run))
    names = ", ".join(column.name for column in Table.metadata.tables["replaced_policy"].c if column.name != "id")
    db.run(f"INSERT OR IGNORE INTO main.replaced_policy ({names}) SELECT {names} FROM replaced.replaced_policy")
    for row in [row for rows in theirs.values() for row in rows] if differing else []:
        db.run(_KEEP_POLICY, epoch=epoch, **row)
    return differing


def _policies(db: Transaction, schema: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for values in db.rows(_POLICIES.format(schema=schema)):
        row = dict(zip(("run", "version", "text", "digest", "author", "created_ms"), values, strict=True))
        found.setdefault(row["run"], []).append(row)
    return found


def _digests(policies: dict[str, list[dict[str, Any]]], run: str) -> list[tuple[int, str]]:
    return [(row["version"], row["digest"]) for row in policies.get(run, [])]
