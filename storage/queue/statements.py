"""The SQL of the queue, in the dialect that SQLite and PostgreSQL share.

A closing FOR UPDATE is for PostgreSQL: every transaction locks items, then slots and decisions, then budgets. SQLite
already holds its single write lock, so `render_sql` removes the clause. Words such as 'claimed' are literals, because
SQLite cannot use partial indexes with bound values. CROSS JOIN keeps SQLite from reading every item of a run.
"""

from storage.tables import IS_CURRENT

PUT = """
INSERT INTO item (run_id, trial, trajectory_id, step, kind, status, priority, open_slots, reviews_required,
                  verdict_id, created_ms)
VALUES (:run_id, :trial, :trajectory_id, :step, :kind, 'pending', :priority, :reviews_required, :reviews_required,
        :verdict_id, :created_ms)
ON CONFLICT (trajectory_id, step, kind) DO UPDATE
SET status = 'pending', priority = excluded.priority, open_slots = excluded.reviews_required,
    reviews_required = excluded.reviews_required, verdict_id = excluded.verdict_id
WHERE item.status = 'cancelled'
  AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.item_id = item.id AND slot.status IN ('claimed', 'decided'))"""

# The cap grows by the items of known answer, so that these use no inspection of a real action.
_SEEDED = """(
    SELECT count(*) FROM seeded_item k CROSS JOIN item i
    WHERE i.id = k.item_id AND i.run_id = budget.run_id AND i.trial = budget.trial AND budget.scope = ''%s)"""
_ALL_SEEDED = _SEEDED % ""

OPEN_BUDGET = f"""
INSERT INTO budget (run_id, trial, scope, cap, used, halted) VALUES (:run_id, :trial, :scope, :cap, 0, 0)
ON CONFLICT (run_id, trial, scope) DO UPDATE SET cap = excluded.cap + {_ALL_SEEDED}
WHERE excluded.cap IS NULL OR excluded.cap + {_ALL_SEEDED} >= budget.used
RETURNING id"""

BUDGET = "SELECT id, cap, used, halted FROM budget WHERE run_id = :run_id AND trial = :trial AND scope = :scope"

# Other items cannot use the units of the items of known answer that no one has claimed yet.
_OPEN_SEEDED = _SEEDED % " AND i.open_slots > 0 AND i.id <> :item_id"

SPEND = f"""
UPDATE budget SET used = used + :units, halted = halted + :halted
WHERE id = :budget_id AND (cap IS NULL OR used + :units <= cap - {_OPEN_SEEDED})
RETURNING cap, used"""

REFUND = "UPDATE budget SET used = used - :units, halted = halted - :halted WHERE id = :budget_id"

INSERT_LEDGER = """
INSERT INTO ledger (budget_id, item_id, slot_id, reviewer, entry, reason, units, at_ms)
VALUES (:budget_id, :item_id, :slot_id, :reviewer, :entry, :reason, :units, :now_ms)"""

EXPIRED_CLAIMS = """
SELECT s.id, s.item_id, s.budget_id, s.reviewer, s.units, i.kind FROM slot s JOIN item i ON i.id = s.item_id
WHERE s.status = 'claimed' AND s.lease_until_ms <= :now_ms
FOR UPDATE SKIP LOCKED"""

FAR_CLAIMS = """
SELECT s.id, s.item_id, s.budget_id, s.reviewer, s.units, i.kind FROM slot s JOIN item i ON i.id = s.item_id
WHERE s.status = 'claimed' AND s.lease_until_ms > :far_ms
FOR UPDATE SKIP LOCKED"""

# A heartbeat or a deadline of the far future was written by a clock that has been set back since.
_IS_ABANDONED = """
i.status IN ('pending', 'claimed')
  AND NOT EXISTS (SELECT 1 FROM slot s WHERE s.item_id = i.id AND s.status = 'claimed')
  AND (a.deadline_ms <= :now_ms OR a.deadline_ms > :far_ms
       OR (a.answer IS NULL AND a.beats AND (a.heartbeat_ms < :dead_ms OR a.heartbeat_ms > :far_ms)))"""

IS_OVERDUE = (
    f"SELECT 1 FROM ask a JOIN item i ON i.id = a.item_id WHERE a.item_id = :item_id AND {_IS_ABANDONED} LIMIT 1"
)

OVERDUE = f"""
SELECT i.id FROM item i CROSS JOIN ask a
WHERE i.run_id = :run_id AND a.item_id = i.id AND {_IS_ABANDONED}
ORDER BY i.id
FOR UPDATE OF i"""

END_ASK = "UPDATE ask SET answer = 'timeout', answered_ms = :now_ms WHERE item_id = :item_id AND answer IS NULL"

RUN_OF_ITEM = "SELECT run_id FROM item WHERE id = :item_id"

LIVE_CLAIMS = """
SELECT s.id, s.item_id, s.budget_id, s.reviewer, s.units, i.kind FROM slot s JOIN item i ON i.id = s.item_id
WHERE s.item_id = :item_id AND s.status = 'claimed'
FOR UPDATE OF s"""

_ITEM = "i.id, i.run_id, i.trial, i.trajectory_id, i.step, i.kind, i.priority, i.verdict_id"

HELD_CLAIM = f"""
SELECT {_ITEM}, s.id, s.token, s.claimed_ms FROM slot s JOIN item i ON i.id = s.item_id
WHERE s.reviewer = :reviewer AND s.status = 'claimed' AND s.budget_id = :budget_id
ORDER BY s.claimed_ms DESC, s.id DESC LIMIT 1
FOR UPDATE OF s"""

_IS_ASKED = "EXISTS (SELECT 1 FROM ask a WHERE a.item_id = i.id)"
# Others decide after the escalation of the assigned person.
_OTHER_REVIEWER = """
SELECT 1 FROM item_reviewer r WHERE r.item_id = i.id AND r.reviewer <> :reviewer AND NOT EXISTS (
    SELECT 1 FROM slot d WHERE d.item_id = r.item_id AND d.reviewer = r.reviewer AND d.status = 'decided')"""
IS_OF_OTHERS = f"EXISTS ({_OTHER_REVIEWER})"

_FRESH = f"""
SELECT {_ITEM}, {_IS_ASKED} FROM item i
WHERE i.run_id = :run_id AND i.trial = :trial AND i.open_slots > 0%s AND NOT {IS_OF_OTHERS}
  AND NOT EXISTS (SELECT 1 FROM slot s WHERE s.item_id = i.id AND s.reviewer = :reviewer
                  AND s.status NOT IN ('released', 'lapsed'))
ORDER BY i.priority DESC, i.id LIMIT 1
FOR UPDATE SKIP LOCKED"""

_SKIPPED = f"""
SELECT {_ITEM}, {_IS_ASKED} FROM slot s CROSS JOIN item i
WHERE s.reviewer = :reviewer AND s.status = 'skipped' AND i.id = s.item_id
  AND i.run_id = :run_id AND i.trial = :trial AND i.open_slots > 0%s AND NOT {IS_OF_OTHERS}
ORDER BY s.lease_until_ms, i.id LIMIT 1
FOR UPDATE SKIP LOCKED"""

FRESH, FRESH_HALTED = _FRESH % "", _FRESH % " AND i.kind = 'halted'"
SKIPPED, SKIPPED_HALTED = _SKIPPED % "", _SKIPPED % " AND i.kind = 'halted'"

LOCK_ITEM = f"SELECT {_ITEM}, i.status, i.open_slots FROM item i WHERE i.id = :item_id FOR UPDATE"

OWN_SLOT = """
SELECT id, budget_id, status, token, units, claimed_ms, lease_until_ms FROM slot
WHERE item_id = :item_id AND reviewer = :reviewer
FOR UPDATE"""

TAKE_SLOT = """
UPDATE item SET open_slots = open_slots - 1, status = CASE WHEN open_slots > 1 THEN 'pending' ELSE 'claimed' END
WHERE id = :item_id AND open_slots > 0"""

CLAIM_SLOT = """
INSERT INTO slot (item_id, budget_id, reviewer, status, token, units, claimed_ms, lease_until_ms)
VALUES (:item_id, :budget_id, :reviewer, 'claimed', :token, :units, :now_ms, :until_ms)
ON CONFLICT (item_id, reviewer) DO UPDATE
SET budget_id = excluded.budget_id, status = 'claimed', token = excluded.token, units = excluded.units,
    claimed_ms = excluded.claimed_ms, lease_until_ms = excluded.lease_until_ms
WHERE slot.status NOT IN ('claimed', 'decided')
RETURNING id"""

RENEW = "UPDATE slot SET lease_until_ms = :until_ms WHERE id = :slot_id"

EXTEND = """
UPDATE slot SET lease_until_ms = :until_ms
WHERE item_id = :item_id AND reviewer = :reviewer AND token = :token AND status = 'claimed'
  AND lease_until_ms > :now_ms"""

CLAIM_SLOT_AGAIN = """
UPDATE slot SET status = 'claimed', token = :token, lease_until_ms = :until_ms WHERE id = :slot_id"""

LEAVE_SLOT = "UPDATE slot SET status = :status, lease_until_ms = :now_ms WHERE id = :slot_id"

REOPEN = """
UPDATE item SET open_slots = open_slots + 1, status = 'pending'
WHERE id = :item_id AND status IN ('pending', 'claimed')"""

# The joined text hides the index of the reviewer's decisions: of all decisions, few can still be undone.
SETTLE = f"""
UPDATE decision SET deliverable_ms = :now_ms WHERE id IN (
    SELECT d.id FROM decision d CROSS JOIN item i
    WHERE d.deliverable_ms > :now_ms AND d.delivered_ms IS NULL AND {IS_CURRENT} AND d.reviewer || '' = :reviewer
      AND i.id = d.item_id AND i.run_id = :run_id
    FOR UPDATE OF d SKIP LOCKED)"""

BODY = "SELECT body FROM trajectory_body WHERE trajectory_id = :trajectory_id"

COUNT_UNREVIEWED = """
SELECT count(*) FROM item WHERE run_id = :run_id AND trial = :trial AND status IN ('pending', 'claimed')"""

CLAIMED_BY_OTHERS = """
SELECT 1 FROM item i WHERE i.run_id = :run_id AND i.trial = :trial AND i.status IN ('pending', 'claimed')
  AND NOT EXISTS (SELECT 1 FROM slot s WHERE s.item_id = i.id AND s.reviewer = :reviewer AND s.status = 'decided')
LIMIT 1"""

_DECISION = """id, item_id, slot_id, reviewer, annotator_kind, decision, label, feedback_type, feedback_text,
edited_action, action_digest, submit_key, revision, superseded, budget_cap, budget_used, claimed_ms, decided_ms,
withdrawn_ms, deliverable_ms, delivered_ms, seen_digest, reason_codes, marked_steps, answers"""

SUBMITTED = f"SELECT {_DECISION} FROM decision WHERE submit_key = :submit_key"

CURRENT = f"SELECT {_DECISION} FROM decision WHERE slot_id = :slot_id AND {IS_CURRENT} FOR UPDATE"

MARK_DECIDED = "UPDATE slot SET status = 'decided', lease_until_ms = :now_ms WHERE id = :slot_id"

DECIDE = f"""
INSERT INTO decision (item_id, slot_id, reviewer, annotator_kind, decision, label, feedback_type, feedback_text,
                      edited_action, action_digest, submit_key, revision, superseded, budget_cap, budget_used,
                      claimed_ms, decided_ms, deliverable_ms, door, seen_digest,
                      reason_codes, marked_steps, answers)
VALUES (:item_id, :slot_id, :reviewer, :annotator_kind, :decision, :label, :feedback_type, :feedback_text,
        :edited_action, :action_digest, :submit_key,
        (SELECT coalesce(max(revision), 0) + 1 FROM decision WHERE slot_id = :slot_id), false,
        :budget_cap, :budget_used, :claimed_ms, :now_ms, :deliverable_ms, :door, :seen_digest, :reason_codes,
        :marked_steps, :answers)
RETURNING {_DECISION}"""

SET_STATUS = """
UPDATE item SET status = CASE
    WHEN open_slots > 0 THEN 'pending'
    WHEN EXISTS (SELECT 1 FROM slot s WHERE s.item_id = item.id AND s.status = 'claimed') THEN 'claimed'
    ELSE 'decided' END
WHERE id = :item_id AND status IN ('pending', 'claimed', 'decided')"""

ADD_SLOT = "UPDATE item SET reviews_required = reviews_required + 1, open_slots = open_slots + 1 WHERE id = :item_id"

REMOVE_SLOT = """
UPDATE item SET reviews_required = reviews_required - 1, open_slots = open_slots - 1
WHERE id = :item_id AND open_slots > 0 AND reviews_required > 1"""

SUPERSEDE = "UPDATE decision SET superseded = true, withdrawn_ms = :withdrawn_ms WHERE id = :decision_id"

BUDGET_OF_SLOT = "SELECT b.cap, b.used FROM slot s JOIN budget b ON b.id = s.budget_id WHERE s.id = :slot_id"

DUE = f"""
SELECT d.id FROM decision d CROSS JOIN item i
WHERE d.delivered_ms IS NULL AND {IS_CURRENT} AND d.deliverable_ms <= :now_ms
  AND i.id = d.item_id AND i.run_id = :run_id
  AND i.status IN ('pending', 'claimed', 'decided')"""

ITEM_OF_DECISION = "SELECT item_id FROM decision WHERE id = :decision_id"

DELIVER = f"""
UPDATE decision SET delivered_ms = :now_ms
WHERE id = :decision_id AND delivered_ms IS NULL AND {IS_CURRENT} AND deliverable_ms <= :now_ms
  AND EXISTS (SELECT 1 FROM item i WHERE i.id = decision.item_id AND i.status IN ('pending', 'claimed', 'decided'))
RETURNING item_id"""

FINISH = f"""
UPDATE item SET status = 'delivered'
WHERE id = :item_id AND status = 'decided' AND NOT EXISTS (
    SELECT 1 FROM decision d WHERE d.item_id = item.id AND {IS_CURRENT} AND d.delivered_ms IS NULL)"""

LEAVE_QUEUE = """
UPDATE item SET status = :status, open_slots = 0 WHERE id = :item_id AND status IN ('pending', 'claimed')"""

SAVE_DRAFT = """
INSERT INTO draft (item_id, reviewer, feedback_text, reason_codes, edit, marked_steps, answers, updated_ms)
VALUES (:item_id, :reviewer, coalesce(:feedback_text, ''), coalesce(:reason_codes, ''), coalesce(:edit, ''),
        coalesce(:marked_steps, ''), coalesce(:answers, ''), :now_ms)
ON CONFLICT (item_id, reviewer) DO UPDATE
SET feedback_text = coalesce(:feedback_text, draft.feedback_text),
    reason_codes = coalesce(:reason_codes, draft.reason_codes), edit = coalesce(:edit, draft.edit),
    marked_steps = coalesce(:marked_steps, draft.marked_steps), answers = coalesce(:answers, draft.answers),
    updated_ms = excluded.updated_ms"""

DRAFT = """
SELECT feedback_text, reason_codes, edit, marked_steps, answers FROM draft
WHERE item_id = :item_id AND reviewer = :reviewer"""

DROP_DRAFT = "DELETE FROM draft WHERE item_id = :item_id AND reviewer = :reviewer"
