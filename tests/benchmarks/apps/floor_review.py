import streamlit as st

from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.review.presentation import checkpoint_presentation
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.web.review import actions, decision_bar
from console.web.run_picker import chosen_run
from console.web.sign_in import current_identity
from storage.queue import KeptDraft

identity = current_identity()
with reading() as session:
    run = chosen_run(session)
    claim = decisions.claim_next_item(review_queue(), session, run, identity.name, now_ms(), settles=False)
actions.show_flash()
st.html(f'<div class="ia-sheet">item {claim.item_id}</div>')
action = decisions.pending_action(claim)
actions.mark_shown(
    claim.item_id, checkpoint_presentation(Checkpoint("", "", "", (), 0, CheckpointKind.ACTION, action=action))
)
decision_bar.bar(claim, run, KeptDraft())
