// Pointing at steps: `[` and `]` move between steps and `.` marks one, as hotkeys.js reports; the mouse has a button.
// The script decorates rows that other parts draw, so it repeats the decoration while rows may still appear.
const mounted = new WeakMap()
const AGAIN_MS = [0, 120, 500, 1500]
const ROWS = ".ia-step[data-n]"

export default function mount({ data, parentElement, setTriggerValue }) {
  const state = mounted.get(parentElement) ?? begin(parentElement)
  if (state.data?.item !== data.item) {
    forget(state)
    state.marks = new Map(data.marks)
  }
  state.data = data
  state.send = (marks) => setTriggerValue("marked", { item: data.item, marks, press: Date.now() })
  decorateSoon(state)
  return () => end(state, parentElement)
}

function begin(parentElement) {
  const state = { stop: new AbortController(), marks: new Map(), timers: [], said: parentElement.querySelector(".said") }
  const on = (name, handle) => document.addEventListener(name, handle, { signal: state.stop.signal })
  on("ia-step", (event) => (event.detail === "." ? toggle(state, current(state)) : move(state, event.detail)))
  on("pointerover", (event) => offer(state, event.target.closest?.(ROWS)))
  on("click", (event) => clicked(state, event))
  state.button = document.createElement("button")
  state.button.type = "button"
  state.button.className = "ia-mark"
  // Pressing the button must not clear the selected words.
  state.button.addEventListener("pointerdown", (event) => event.preventDefault())
  mounted.set(parentElement, state)
  return state
}

function end(state, parentElement) {
  forget(state)
  state.stop.abort()
  mounted.delete(parentElement)
}

function forget(state) {
  state.timers.forEach(clearTimeout)
  state.at = undefined
  state.marks.clear()
  state.button.remove()
  for (const row of rows()) undress(row)
}

function rows() {
  return [...document.querySelectorAll(ROWS)]
}

function current(state) {
  return rows().find((row) => row.dataset.n === state.at)
}

function move(state, key) {
  const all = rows()
  const here = all.findIndex((row) => row.dataset.n === state.at)
  // The first press of `[` begins at the last step, which is the critical action.
  const next = here < 0 ? (key === "[" ? all.length - 1 : 0) : here + (key === "[" ? -1 : 1)
  const row = all[Math.max(0, Math.min(all.length - 1, next))]
  if (!row) return
  state.at = row.dataset.n
  decorate(state)
  offer(state, row)
  row.scrollIntoView({ block: "nearest" })
  say(state, row)
}

function toggle(state, row) {
  if (!row) return move(state, "[")
  const number = row.dataset.n
  const quote = selected(row)
  if (state.marks.has(number) && (!quote || state.marks.get(number) === quote)) state.marks.delete(number)
  else state.marks.set(number, quote)
  state.at = number
  decorate(state)
  offer(state, row)
  say(state, row)
  state.send([...state.marks].map(([step, words]) => [Number(step), words]))
}

function selected(row) {
  const selection = getSelection()
  if (selection.isCollapsed || !row.contains(selection.anchorNode) || !row.contains(selection.focusNode)) return ""
  return selection.toString().trim().slice(0, 200)
}

function offer(state, row) {
  if (!row || !state.data) return
  const marked = state.marks.has(row.dataset.n)
  state.button.textContent = marked ? state.data.words.unmark : state.data.words.mark
  state.button.setAttribute("aria-pressed", String(marked))
  state.button.setAttribute("aria-label", `${state.button.textContent}: ${state.data.words.step.replace("{number}", row.dataset.n)}`)
  if (state.button.parentElement !== row) row.append(state.button)
}

function clicked(state, event) {
  if (event.target !== state.button) return
  event.stopPropagation()
  toggle(state, state.button.closest(ROWS))
}

function decorateSoon(state) {
  state.timers.forEach(clearTimeout)
  state.timers = AGAIN_MS.map((ms) => setTimeout(() => decorate(state), ms))
}

function decorate(state) {
  for (const row of rows()) {
    const quote = state.marks.get(row.dataset.n)
    row.classList.toggle("ia-at", row.dataset.n === state.at)
    row.classList.toggle("ia-marked", quote !== undefined)
    if (quote === undefined) delete row.dataset.marked
    else row.dataset.marked = state.data.words.marked + (quote ? `: ${state.data.words.quoted.replace("{quote}", () => quote)}` : "")
  }
}

function undress(row) {
  row.classList.remove("ia-at", "ia-marked")
  delete row.dataset.marked
}

function say(state, row) {
  const words = [state.data.words.step.replace("{number}", row.dataset.n)]
  if (row.dataset.marked) words.push(row.dataset.marked)
  state.said.textContent = words.join(", ")
}
