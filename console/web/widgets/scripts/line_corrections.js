// One listener for the buttons of the requirement table; a drawn button is disabled for anyone without this script.
const mounted = new WeakMap()

export default function mount({ data, parentElement, setTriggerValue }) {
  const state = mounted.get(parentElement) ?? begin(parentElement)
  state.item = data.item
  state.send = (line) => setTriggerValue("corrected", { item: data.item, line, press: Date.now() })
  if (state.pressed) refocus(state, data.corrected.includes(state.pressed.line))
  return () => end(state, parentElement)
}

function begin(parentElement) {
  const state = { stop: new AbortController() }
  document.addEventListener("click", (event) => press(state, event), { signal: state.stop.signal })
  mounted.set(parentElement, state)
  return state
}

function end(state, parentElement) {
  clearTimeout(state.timer)
  state.stop.abort()
  mounted.delete(parentElement)
}

function press(state, event) {
  const button = event.target.closest?.("button.ia-correct")
  if (!button || button.getAttribute("aria-busy")) return
  button.setAttribute("aria-busy", "true")
  state.pressed = { line: button.dataset.line, before: button.getAttribute("aria-pressed") }
  state.send(button.dataset.line)
}

// The table is drawn anew after a press, which takes the focus away from a reviewer at the keyboard.
function refocus(state, isCorrected, tries = 40) {
  const { line } = state.pressed
  const button = document.querySelector(`button.ia-correct[data-line="${CSS.escape(line)}"]`)
  if (button?.getAttribute("aria-pressed") === String(isCorrected)) {
    button.removeAttribute("aria-busy")
    if (document.activeElement === document.body || document.activeElement === button) openedFor(button).focus()
    state.pressed = null
    return
  }
  if (tries) state.timer = setTimeout(() => refocus(state, isCorrected, tries - 1), 50)
  else state.pressed = null
}

function openedFor(button) {
  const fold = button.closest("details")
  if (fold) fold.open = true
  return button
}
