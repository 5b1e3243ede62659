CREATE TABLE agent (
    id {serial} NOT NULL, name VARCHAR NOT NULL, name_key VARCHAR NOT NULL, token_hash VARCHAR NOT NULL,
    created_ms BIGINT NOT NULL, disabled_ms BIGINT, seen_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT uq_agent_name_key UNIQUE (name_key),
    CONSTRAINT uq_agent_token_hash UNIQUE (token_hash)
);
CREATE TABLE chain_end (
    id INTEGER NOT NULL, event_id INTEGER NOT NULL, events INTEGER NOT NULL, hash VARCHAR NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE database_key (
    id INTEGER NOT NULL, "key" VARCHAR NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE event_link (
    event_id INTEGER NOT NULL, at_ms BIGINT NOT NULL, kind VARCHAR NOT NULL, erases VARCHAR NOT NULL,
    content_digest VARCHAR NOT NULL, previous_hash VARCHAR NOT NULL, hash VARCHAR NOT NULL,
    PRIMARY KEY (event_id)
);
CREATE TABLE person (
    id {serial} NOT NULL, name VARCHAR NOT NULL, name_key VARCHAR NOT NULL, roles VARCHAR NOT NULL,
    created_ms BIGINT NOT NULL, disabled_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT uq_person_name_key UNIQUE (name_key)
);
CREATE TABLE picture (
    digest VARCHAR NOT NULL, media_type VARCHAR NOT NULL, data {bytes} NOT NULL,
    PRIMARY KEY (digest)
);
CREATE TABLE plan_version (
    id {serial} NOT NULL, name VARCHAR NOT NULL, environment VARCHAR NOT NULL, task_type VARCHAR NOT NULL,
    version INTEGER NOT NULL, text VARCHAR NOT NULL, author VARCHAR NOT NULL, lineage VARCHAR NOT NULL,
    training VARCHAR NOT NULL, pinned BOOLEAN NOT NULL, created_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_plan_version_name_task_type_version UNIQUE (name, task_type, version)
);
CREATE TABLE study (
    id {serial} NOT NULL, name VARCHAR NOT NULL, design VARCHAR NOT NULL, status VARCHAR NOT NULL,
    join_code VARCHAR NOT NULL, created_ms BIGINT NOT NULL, opened_ms BIGINT, closed_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT ck_status_known CHECK (status IN ('draft', 'open', 'paused', 'closed')),
    CONSTRAINT uq_study_name UNIQUE (name),
    CONSTRAINT uq_study_join_code UNIQUE (join_code)
);
CREATE TABLE invitation (
    id {serial} NOT NULL, token_hash VARCHAR NOT NULL, person_id INTEGER, roles VARCHAR NOT NULL,
    invited_by VARCHAR NOT NULL, created_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, used_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT uq_invitation_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_invitation_person_id FOREIGN KEY(person_id) REFERENCES person (id)
);
CREATE INDEX ix_invitation_person ON invitation (person_id);
CREATE TABLE person_session (
    id {serial} NOT NULL, token_hash VARCHAR NOT NULL, person_id INTEGER NOT NULL, browser VARCHAR NOT NULL,
    address VARCHAR NOT NULL, created_ms BIGINT NOT NULL, seen_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL,
    ended_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT uq_person_session_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_person_session_person_id FOREIGN KEY(person_id) REFERENCES person (id)
);
CREATE INDEX ix_person_session_person ON person_session (person_id);
CREATE TABLE run (
    id {serial} NOT NULL, name VARCHAR NOT NULL, kind VARCHAR NOT NULL, environment VARCHAR NOT NULL,
    actor VARCHAR, source_run_id INTEGER, study_id INTEGER, critical VARCHAR NOT NULL, ends BOOLEAN,
    detector VARCHAR, threshold FLOAT, seed INTEGER NOT NULL, budget_cap INTEGER, budget_percent FLOAT,
    halted_free BOOLEAN NOT NULL, feedback_mode VARCHAR NOT NULL, reviews_per_item INTEGER NOT NULL,
    blind BOOLEAN NOT NULL, lease_ms INTEGER NOT NULL, undo_ms INTEGER NOT NULL, trials INTEGER NOT NULL,
    options VARCHAR DEFAULT '{}' NOT NULL, created_ms BIGINT NOT NULL, tags VARCHAR DEFAULT '[]' NOT NULL,
    archived_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT ck_kind_known CHECK (kind IN ('archive', 'replay', 'live', 'gate')),
    CONSTRAINT uq_run_name UNIQUE (name),
    CONSTRAINT fk_run_source_run_id FOREIGN KEY(source_run_id) REFERENCES run (id),
    CONSTRAINT fk_run_study_id FOREIGN KEY(study_id) REFERENCES study (id)
);
CREATE INDEX ix_run_study ON run (study_id);
CREATE TABLE adjudication (
    id {serial} NOT NULL, study_id INTEGER, run_id INTEGER, unit VARCHAR NOT NULL, revision INTEGER NOT NULL,
    label VARCHAR NOT NULL, note VARCHAR NOT NULL, adjudicator VARCHAR NOT NULL, at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_adjudication_study_id_run_id_unit_revision UNIQUE (study_id, run_id, unit, revision),
    CONSTRAINT fk_adjudication_study_id FOREIGN KEY(study_id) REFERENCES study (id),
    CONSTRAINT fk_adjudication_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
CREATE INDEX ix_adjudication_run ON adjudication (run_id);
CREATE INDEX ix_adjudication_study ON adjudication (study_id);
CREATE TABLE budget (
    id {serial} NOT NULL, run_id INTEGER NOT NULL, trial INTEGER NOT NULL, scope VARCHAR NOT NULL, cap INTEGER,
    used INTEGER NOT NULL, halted INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_budget_run_id_trial_scope UNIQUE (run_id, trial, scope),
    CONSTRAINT ck_budget_cap CHECK (used >= 0 AND (cap IS NULL OR used <= cap)),
    CONSTRAINT fk_budget_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
CREATE TABLE event (
    id {serial} NOT NULL, run_id INTEGER, at_ms BIGINT NOT NULL, actor VARCHAR NOT NULL, kind VARCHAR NOT NULL,
    subject VARCHAR NOT NULL, detail VARCHAR NOT NULL, door VARCHAR DEFAULT '' NOT NULL,
    place VARCHAR DEFAULT '' NOT NULL, "before" VARCHAR, "after" VARCHAR, salt VARCHAR DEFAULT '' NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT fk_event_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
CREATE INDEX ix_event_run ON event (run_id);
CREATE TABLE log_import (
    id {serial} NOT NULL, run_id INTEGER NOT NULL, file VARCHAR NOT NULL, imported INTEGER NOT NULL,
    created_ms BIGINT NOT NULL, undone_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT fk_log_import_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
CREATE INDEX ix_log_import_run ON log_import (run_id);
CREATE TABLE participant (
    id {serial} NOT NULL, study_id INTEGER NOT NULL, number INTEGER NOT NULL, code VARCHAR NOT NULL,
    kind VARCHAR NOT NULL, rule VARCHAR NOT NULL, secret VARCHAR, stage VARCHAR NOT NULL, answers VARCHAR NOT NULL,
    practice_run_id INTEGER, joined_ms BIGINT, consented_ms BIGINT, finished_ms BIGINT, completion_code VARCHAR,
    outside_id VARCHAR, consent_version VARCHAR,
    PRIMARY KEY (id),
    CONSTRAINT uq_participant_study_id_code UNIQUE (study_id, code),
    CONSTRAINT ck_kind_known CHECK (kind IN ('human', 'oracle', 'noisy', 'rules')),
    CONSTRAINT fk_participant_study_id FOREIGN KEY(study_id) REFERENCES study (id),
    CONSTRAINT uq_participant_secret UNIQUE (secret),
    CONSTRAINT fk_participant_practice_run_id FOREIGN KEY(practice_run_id) REFERENCES run (id)
);
CREATE UNIQUE INDEX ix_participant_outside ON participant (study_id, outside_id);
CREATE INDEX ix_participant_study ON participant (study_id, number);
CREATE TABLE policy (
    id {serial} NOT NULL, run_id INTEGER, version INTEGER NOT NULL, text VARCHAR NOT NULL, digest VARCHAR NOT NULL,
    author VARCHAR NOT NULL, created_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_policy_run_id_version UNIQUE (run_id, version),
    CONSTRAINT fk_policy_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
CREATE TABLE task (
    id {serial} NOT NULL, run_id INTEGER NOT NULL, task_key VARCHAR NOT NULL, environment VARCHAR NOT NULL,
    instruction VARCHAR NOT NULL, instruction_digest VARCHAR NOT NULL, gold VARCHAR DEFAULT '{}' NOT NULL,
    options VARCHAR DEFAULT '{}' NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_task_run_id_task_key_instruction_digest UNIQUE (run_id, task_key, instruction_digest),
    CONSTRAINT fk_task_run_id FOREIGN KEY(run_id) REFERENCES run (id)
);
CREATE TABLE allowed (
    id {serial} NOT NULL, run_id INTEGER NOT NULL, policy_id INTEGER NOT NULL, rule VARCHAR NOT NULL,
    tool VARCHAR NOT NULL, checks INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_allowed_run_id_policy_id_rule_tool UNIQUE (run_id, policy_id, rule, tool),
    CONSTRAINT fk_allowed_run_id FOREIGN KEY(run_id) REFERENCES run (id),
    CONSTRAINT fk_allowed_policy_id FOREIGN KEY(policy_id) REFERENCES policy (id)
);
CREATE TABLE assignment (
    id {serial} NOT NULL, study_id INTEGER NOT NULL, participant_id INTEGER NOT NULL, position INTEGER NOT NULL,
    condition VARCHAR NOT NULL, levels VARCHAR NOT NULL, tasks VARCHAR NOT NULL, run_id INTEGER,
    checks_run_id INTEGER, status VARCHAR NOT NULL, began_ms BIGINT, ended_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT uq_assignment_participant_id_position UNIQUE (participant_id, position),
    CONSTRAINT ck_status_known CHECK (status IN ('waiting', 'working', 'done')),
    CONSTRAINT fk_assignment_study_id FOREIGN KEY(study_id) REFERENCES study (id),
    CONSTRAINT fk_assignment_participant_id FOREIGN KEY(participant_id) REFERENCES participant (id),
    CONSTRAINT fk_assignment_run_id FOREIGN KEY(run_id) REFERENCES run (id),
    CONSTRAINT fk_assignment_checks_run_id FOREIGN KEY(checks_run_id) REFERENCES run (id)
);
CREATE INDEX ix_assignment_checks_run ON assignment (checks_run_id);
CREATE INDEX ix_assignment_run ON assignment (run_id);
CREATE INDEX ix_assignment_study ON assignment (study_id);
CREATE TABLE study_invitation (
    id {serial} NOT NULL, study_id INTEGER NOT NULL, token VARCHAR NOT NULL, participant_id INTEGER,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT fk_study_invitation_study_id FOREIGN KEY(study_id) REFERENCES study (id),
    CONSTRAINT uq_study_invitation_token UNIQUE (token),
    CONSTRAINT fk_study_invitation_participant_id FOREIGN KEY(participant_id) REFERENCES participant (id)
);
CREATE INDEX ix_study_invitation_study ON study_invitation (study_id);
CREATE TABLE trajectory (
    id {serial} NOT NULL, run_id INTEGER NOT NULL, task_id INTEGER NOT NULL, trial INTEGER NOT NULL,
    environment VARCHAR NOT NULL, outcome VARCHAR NOT NULL, recorded_outcome VARCHAR NOT NULL, label VARCHAR,
    carried_over BOOLEAN NOT NULL, critical_action VARCHAR, n_steps INTEGER NOT NULL, n_critical INTEGER NOT NULL,
    digest VARCHAR NOT NULL, source VARCHAR NOT NULL, released_by VARCHAR, created_ms BIGINT NOT NULL,
    import_id INTEGER,
    PRIMARY KEY (id),
    CONSTRAINT uq_trajectory_run_id_digest UNIQUE (run_id, digest),
    CONSTRAINT fk_trajectory_run_id FOREIGN KEY(run_id) REFERENCES run (id),
    CONSTRAINT fk_trajectory_task_id FOREIGN KEY(task_id) REFERENCES task (id),
    CONSTRAINT fk_trajectory_import_id FOREIGN KEY(import_id) REFERENCES log_import (id)
);
CREATE INDEX ix_trajectory_import ON trajectory (import_id);
CREATE INDEX ix_trajectory_run_trial ON trajectory (run_id, trial);
CREATE INDEX ix_trajectory_task ON trajectory (task_id, trial);
CREATE TABLE questionnaire_answer (
    id {serial} NOT NULL, study_id INTEGER NOT NULL, participant_id INTEGER NOT NULL, assignment_id INTEGER,
    moment VARCHAR NOT NULL, instrument VARCHAR NOT NULL, item VARCHAR NOT NULL, answer VARCHAR NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT fk_questionnaire_answer_study_id FOREIGN KEY(study_id) REFERENCES study (id),
    CONSTRAINT fk_questionnaire_answer_participant_id FOREIGN KEY(participant_id) REFERENCES participant (id),
    CONSTRAINT fk_questionnaire_answer_assignment_id FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);
CREATE INDEX ix_questionnaire_answer_participant ON questionnaire_answer (participant_id);
CREATE INDEX ix_questionnaire_answer_study ON questionnaire_answer (study_id);
CREATE TABLE trajectory_body (
    trajectory_id INTEGER NOT NULL, body VARCHAR NOT NULL,
    PRIMARY KEY (trajectory_id),
    CONSTRAINT fk_trajectory_body_trajectory_id FOREIGN KEY(trajectory_id) REFERENCES trajectory (id)
);
CREATE TABLE verdict (
    id {serial} NOT NULL, run_id INTEGER NOT NULL, trajectory_id INTEGER NOT NULL, step INTEGER NOT NULL,
    kind VARCHAR NOT NULL, detector VARCHAR NOT NULL, score FLOAT NOT NULL, probability FLOAT,
    threshold FLOAT NOT NULL, flagged BOOLEAN NOT NULL, inferred_task VARCHAR, rationale VARCHAR NOT NULL,
    model VARCHAR, prompt_fingerprint VARCHAR, parameters VARCHAR NOT NULL, seed INTEGER NOT NULL, raw VARCHAR,
    latency_ms FLOAT NOT NULL, requests INTEGER DEFAULT '0' NOT NULL, prompt_tokens INTEGER DEFAULT '0' NOT NULL,
    completion_tokens INTEGER DEFAULT '0' NOT NULL, cost_usd FLOAT, created_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_verdict_trajectory_id_step_kind_detector UNIQUE (trajectory_id, step, kind, detector),
    CONSTRAINT fk_verdict_run_id FOREIGN KEY(run_id) REFERENCES run (id),
    CONSTRAINT fk_verdict_trajectory_id FOREIGN KEY(trajectory_id) REFERENCES trajectory (id)
);
CREATE INDEX ix_verdict_run_detector ON verdict (run_id, detector);
CREATE TABLE item (
    id {serial} NOT NULL, run_id INTEGER NOT NULL, trial INTEGER NOT NULL, trajectory_id INTEGER NOT NULL,
    step INTEGER NOT NULL, kind VARCHAR NOT NULL, status VARCHAR NOT NULL, priority FLOAT NOT NULL,
    open_slots INTEGER NOT NULL, reviews_required INTEGER NOT NULL, verdict_id INTEGER, created_ms BIGINT NOT NULL,
    terms VARCHAR DEFAULT '{}' NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_item_trajectory_id_step_kind UNIQUE (trajectory_id, step, kind),
    CONSTRAINT ck_status_known CHECK (status IN ('pending', 'claimed', 'decided', 'delivered', 'expired', 'cancelled')),
    CONSTRAINT ck_item_open_slots CHECK (open_slots >= 0 AND open_slots <= reviews_required),
    CONSTRAINT fk_item_run_id FOREIGN KEY(run_id) REFERENCES run (id),
    CONSTRAINT fk_item_trajectory_id FOREIGN KEY(trajectory_id) REFERENCES trajectory (id),
    CONSTRAINT fk_item_verdict_id FOREIGN KEY(verdict_id) REFERENCES verdict (id)
);
CREATE INDEX ix_item_ready ON item (run_id, trial, priority DESC, id) WHERE open_slots > 0;
CREATE INDEX ix_item_run_status ON item (run_id, trial, status, created_ms);
CREATE TABLE draft (
    item_id INTEGER NOT NULL, reviewer VARCHAR NOT NULL, feedback_text VARCHAR NOT NULL,
    updated_ms BIGINT NOT NULL, reason_codes VARCHAR DEFAULT '' NOT NULL, edit VARCHAR DEFAULT '' NOT NULL,
    PRIMARY KEY (item_id, reviewer),
    CONSTRAINT fk_draft_item_id FOREIGN KEY(item_id) REFERENCES item (id)
);
CREATE TABLE page_event (
    id {serial} NOT NULL, study_id INTEGER NOT NULL, participant_id INTEGER NOT NULL, item_id INTEGER NOT NULL,
    kind VARCHAR NOT NULL, detail VARCHAR NOT NULL, ms INTEGER NOT NULL, lasted_ms INTEGER NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT fk_page_event_study_id FOREIGN KEY(study_id) REFERENCES study (id),
    CONSTRAINT fk_page_event_participant_id FOREIGN KEY(participant_id) REFERENCES participant (id),
    CONSTRAINT fk_page_event_item_id FOREIGN KEY(item_id) REFERENCES item (id)
);
CREATE INDEX ix_page_event_participant ON page_event (participant_id);
CREATE INDEX ix_page_event_study ON page_event (study_id);
CREATE TABLE probe (
    id {serial} NOT NULL, study_id INTEGER NOT NULL, participant_id INTEGER NOT NULL, assignment_id INTEGER,
    item_id INTEGER NOT NULL, purpose VARCHAR NOT NULL, expected VARCHAR NOT NULL, explanation VARCHAR NOT NULL,
    "after" INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_probe_item_id UNIQUE (item_id),
    CONSTRAINT ck_purpose_known CHECK (purpose IN ('practice', 'attention', 'known-good', 'known-bad')),
    CONSTRAINT fk_probe_study_id FOREIGN KEY(study_id) REFERENCES study (id),
    CONSTRAINT fk_probe_participant_id FOREIGN KEY(participant_id) REFERENCES participant (id),
    CONSTRAINT fk_probe_assignment_id FOREIGN KEY(assignment_id) REFERENCES assignment (id),
    CONSTRAINT fk_probe_item_id FOREIGN KEY(item_id) REFERENCES item (id)
);
CREATE INDEX ix_probe_study ON probe (study_id);
CREATE TABLE slot (
    id {serial} NOT NULL, item_id INTEGER NOT NULL, budget_id INTEGER NOT NULL, reviewer VARCHAR NOT NULL,
    status VARCHAR NOT NULL, token VARCHAR NOT NULL, units INTEGER NOT NULL, claimed_ms BIGINT NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_slot_item_id_reviewer UNIQUE (item_id, reviewer),
    CONSTRAINT ck_status_known CHECK (status IN ('claimed', 'decided', 'skipped', 'released', 'lapsed')),
    CONSTRAINT ck_slot_units CHECK (units >= 0),
    CONSTRAINT fk_slot_item_id FOREIGN KEY(item_id) REFERENCES item (id),
    CONSTRAINT fk_slot_budget_id FOREIGN KEY(budget_id) REFERENCES budget (id)
);
CREATE INDEX ix_slot_lease ON slot (lease_until_ms) WHERE status = 'claimed';
CREATE INDEX ix_slot_reviewer ON slot (reviewer, status);
CREATE TABLE decision (
    id {serial} NOT NULL, item_id INTEGER NOT NULL, slot_id INTEGER, reviewer VARCHAR NOT NULL,
    annotator_kind VARCHAR NOT NULL, decision VARCHAR NOT NULL, label VARCHAR, feedback_type VARCHAR NOT NULL,
    feedback_text VARCHAR NOT NULL, edited_action VARCHAR, action_digest VARCHAR NOT NULL,
    submit_key VARCHAR NOT NULL, revision INTEGER NOT NULL, superseded BOOLEAN NOT NULL, budget_cap INTEGER,
    budget_used INTEGER NOT NULL, claimed_ms BIGINT NOT NULL, decided_ms BIGINT NOT NULL, withdrawn_ms BIGINT,
    deliverable_ms BIGINT NOT NULL, delivered_ms BIGINT, door VARCHAR DEFAULT 'browser' NOT NULL,
    seen_digest VARCHAR, reason_codes VARCHAR DEFAULT '' NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_decision_slot_id_revision UNIQUE (slot_id, revision),
    CONSTRAINT ck_decision_known CHECK (decision IN ('approve', 'reject', 'edit', 'respond', 'escalate')),
    CONSTRAINT fk_decision_item_id FOREIGN KEY(item_id) REFERENCES item (id),
    CONSTRAINT fk_decision_slot_id FOREIGN KEY(slot_id) REFERENCES slot (id),
    CONSTRAINT uq_decision_submit_key UNIQUE (submit_key)
);
CREATE INDEX ix_decision_item ON decision (item_id);
CREATE INDEX ix_decision_undelivered ON decision (deliverable_ms) WHERE delivered_ms IS NULL AND NOT superseded;
CREATE UNIQUE INDEX ux_decision_current ON decision (slot_id) WHERE NOT superseded;
CREATE TABLE ledger (
    id {serial} NOT NULL, budget_id INTEGER NOT NULL, item_id INTEGER NOT NULL, slot_id INTEGER NOT NULL,
    reviewer VARCHAR NOT NULL, entry VARCHAR NOT NULL, reason VARCHAR NOT NULL, units INTEGER NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT fk_ledger_budget_id FOREIGN KEY(budget_id) REFERENCES budget (id),
    CONSTRAINT fk_ledger_item_id FOREIGN KEY(item_id) REFERENCES item (id),
    CONSTRAINT fk_ledger_slot_id FOREIGN KEY(slot_id) REFERENCES slot (id)
);
CREATE INDEX ix_ledger_budget ON ledger (budget_id);
CREATE TABLE ask (
    id {serial} NOT NULL, run_id INTEGER NOT NULL, digest VARCHAR NOT NULL, trajectory_id INTEGER NOT NULL,
    item_id INTEGER, asked_ms BIGINT NOT NULL, heartbeat_ms BIGINT NOT NULL, deadline_ms BIGINT, answer VARCHAR,
    answered_ms BIGINT, token VARCHAR NOT NULL, step INTEGER NOT NULL, agent_id INTEGER, asker VARCHAR NOT NULL,
    beats BOOLEAN NOT NULL, action VARCHAR, decision_id INTEGER, policy_version INTEGER, rule VARCHAR,
    tool VARCHAR,
    PRIMARY KEY (id),
    CONSTRAINT uq_ask_run_id_digest UNIQUE (run_id, digest),
    CONSTRAINT uq_ask_token UNIQUE (token),
    CONSTRAINT fk_ask_run_id FOREIGN KEY(run_id) REFERENCES run (id),
    CONSTRAINT fk_ask_trajectory_id FOREIGN KEY(trajectory_id) REFERENCES trajectory (id),
    CONSTRAINT fk_ask_item_id FOREIGN KEY(item_id) REFERENCES item (id),
    CONSTRAINT fk_ask_agent_id FOREIGN KEY(agent_id) REFERENCES agent (id),
    CONSTRAINT fk_ask_decision_id FOREIGN KEY(decision_id) REFERENCES decision (id)
);
CREATE INDEX ix_ask_item ON ask (item_id);
CREATE INDEX ix_ask_trajectory ON ask (trajectory_id);
CREATE TABLE confidence (
    decision_id INTEGER NOT NULL, participant_id INTEGER NOT NULL, level INTEGER NOT NULL, at_ms BIGINT NOT NULL,
    PRIMARY KEY (decision_id),
    CONSTRAINT fk_confidence_decision_id FOREIGN KEY(decision_id) REFERENCES decision (id),
    CONSTRAINT fk_confidence_participant_id FOREIGN KEY(participant_id) REFERENCES participant (id)
);
CREATE INDEX ix_confidence_participant ON confidence (participant_id);
CREATE TABLE intent (
    id {serial} NOT NULL, trajectory_id INTEGER NOT NULL, step INTEGER NOT NULL, action VARCHAR NOT NULL,
    action_digest VARCHAR NOT NULL, decision_id INTEGER, started_ms BIGINT NOT NULL, finished_ms BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT uq_intent_trajectory_id_step UNIQUE (trajectory_id, step),
    CONSTRAINT fk_intent_trajectory_id FOREIGN KEY(trajectory_id) REFERENCES trajectory (id),
    CONSTRAINT fk_intent_decision_id FOREIGN KEY(decision_id) REFERENCES decision (id)
);
CREATE TABLE memory (
    id {serial} NOT NULL, task_id INTEGER NOT NULL, trial INTEGER NOT NULL, decision_id INTEGER NOT NULL,
    origin VARCHAR NOT NULL, text VARCHAR NOT NULL, created_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_memory_decision_id UNIQUE (decision_id),
    CONSTRAINT fk_memory_task_id FOREIGN KEY(task_id) REFERENCES task (id),
    CONSTRAINT fk_memory_decision_id FOREIGN KEY(decision_id) REFERENCES decision (id)
);
CREATE INDEX ix_memory_task ON memory (task_id, trial);
CREATE TABLE note (
    id {serial} NOT NULL, item_id INTEGER NOT NULL, decision_id INTEGER, author VARCHAR NOT NULL,
    addressee VARCHAR NOT NULL, text VARCHAR NOT NULL, created_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT fk_note_item_id FOREIGN KEY(item_id) REFERENCES item (id),
    CONSTRAINT fk_note_decision_id FOREIGN KEY(decision_id) REFERENCES decision (id)
);
CREATE INDEX ix_note_item ON note (item_id);
CREATE TABLE webhook_delivery (
    id {serial} NOT NULL, decision_id INTEGER NOT NULL, url VARCHAR NOT NULL, attempts INTEGER NOT NULL,
    next_ms BIGINT NOT NULL, delivered_ms BIGINT, failure VARCHAR NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_webhook_delivery_decision_id_url UNIQUE (decision_id, url),
    CONSTRAINT fk_webhook_delivery_decision_id FOREIGN KEY(decision_id) REFERENCES decision (id)
);
CREATE INDEX ix_webhook_due ON webhook_delivery (next_ms) WHERE delivered_ms IS NULL;
