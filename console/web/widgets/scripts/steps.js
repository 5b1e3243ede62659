// The further steps, drawn after the first ones so that the next item appears sooner. One listener unfolds all steps.
const mounted = new WeakMap()
const AT_A_TIME = 25
const WAIT_MS = 60
const TAGS = new Set("A B CODE DETAILS DIV LI MARK P PRE SPAN SUMMARY TABLE TBODY TD TH TR".split(" "))
const ATTRIBUTES = new Set(["class", "scope", "data-marked", "data-n", "data-note", "id"])

export default function mount({ data, parentElement }) {
  const list = parentElement.querySelector("ol")
  const state = mounted.get(parentElement) ?? begin(parentElement)
  state.toggle = data.toggle
  if (state.view !== data.view) {
    state.view = data.view
    state.open.clear()
    state.rows = data.rows
    list.replaceChildren()
  }
  whenIdle(state, () => draw(state, list))
  return () => end(state, parentElement)
}

function begin(parentElement) {
  const state = { stop: new AbortController(), open: new Set(), rows: [] }
  document.addEventListener("click", (event) => clicked(event, state.open), { signal: state.stop.signal })
  mounted.set(parentElement, state)
  return state
}

function end(state, parentElement) {
  clearTimeout(state.timer)
  state.stop.abort()
  mounted.delete(parentElement)
}

function draw(state, list) {
  list.append(...state.rows.splice(0, AT_A_TIME).map(harmless))
  document.querySelectorAll(".ia-folds:not(:has(> .ia-toggle))").forEach((row) => addToggle(row, state))
  if (state.rows.length) whenIdle(state, () => draw(state, list))
}

// Wait until the decision bar is drawn.
function whenIdle(state, work) {
  clearTimeout(state.timer)
  state.timer = setTimeout(work, WAIT_MS)
}

// The server escaped every text; remove anything else than text and layout in case it did not.
function harmless(html) {
  const template = document.createElement("template")
  template.innerHTML = html
  for (const each of template.content.querySelectorAll("*")) {
    if (!TAGS.has(each.tagName)) each.replaceWith(each.textContent)
    for (const name of each.getAttributeNames()) if (!ATTRIBUTES.has(name)) each.removeAttribute(name)
  }
  return template.content
}

function addToggle(row, state) {
  const toggle = document.createElement("button")
  toggle.type = "button"
  toggle.className = "ia-toggle"
  toggle.setAttribute("aria-label", state.toggle.replace("{number}", row.dataset.n))
  row.prepend(toggle)
  unfold(row, toggle, state.open.has(row.dataset.n))
}

function unfold(row, toggle, wanted) {
  row.classList.toggle("ia-open", wanted)
  toggle.setAttribute("aria-expanded", String(wanted))
}

function clicked(event, open) {
  const row = event.target instanceof Element && event.target.closest(".ia-folds")
  const toggle = row && row.querySelector(".ia-toggle")
  if (!toggle || event.target.closest("summary, a, .ia-mark")) return
  if (event.target !== toggle && !getSelection().isCollapsed) return
  const number = row.dataset.n
  if (!open.delete(number)) open.add(number)
  unfold(row, toggle, open.has(number))
}
