import streamlit as st

from console.database import now_ms, reading, review_queue
from console.pages import deciding, decision_bar
from console.pages.chosen_run import chosen_run
from console.pages.hat import current_hat
from console.review import decisions

hat = current_hat()
with reading() as session:
    run = chosen_run(session)
    claim = decisions.next_item(review_queue(), session, run, hat.name, now_ms(), settles=False)
deciding.show_flash()
st.html(f'<div class="ia-sheet">item {claim.item_id}</div>')
deciding.mark_shown(claim.item_id)
decision_bar.bar(claim, run, "")
