// Away: another tab, window or program is in front. Idle: no input for a while on the visible page. They never overlap.
// Reports are separate requests, so that they cannot delay or repeat a press.
const mounted = new WeakMap()
const SEND_MS = 4000
const MOST = 150
const ACTIVE = ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"]
const BUTTONS = "[type=radio], [type=checkbox], [type=range], [type=button]"
const TEXT = `textarea, [contenteditable]:not([contenteditable='false']), input:not(${BUTTONS})`
const KEY = /^[a-z0-9?]$|^(arrow(left|right|up|down)|enter|escape|tab| )$/

export default function mount({ data, parentElement }) {
  const state = mounted.get(parentElement) ?? begin(parentElement)
  if (state.data?.item !== data.item) turn(state, data)
  state.data = data
  return () => end(state, parentElement)
}

function begin(parentElement) {
  const state = { events: [], stop: new AbortController(), active: performance.now(), shown: performance.now(), away: null }
  const on = (target, name, handle) =>
    target.addEventListener(name, handle, { capture: true, passive: true, signal: state.stop.signal })
  ACTIVE.forEach((name) => on(document, name, () => act(state)))
  // Ignore blur events of fields, which also reach the window.
  on(window, "blur", (event) => event.target === window && leave(state))
  on(window, "focus", (event) => event.target === window && back(state))
  on(document, "visibilitychange", () => (document.hidden ? leave(state) : back(state)))
  on(window, "pagehide", () => settle(state))
  on(document, "keydown", (event) => pressed(state, event))
  on(document, "click", (event) => clicked(state, event.target))
  on(document, "scroll", (event) => scrolled(state, event.target))
  state.timer = setInterval(() => send(state), SEND_MS)
  mounted.set(parentElement, state)
  return state
}

function end(state, parentElement) {
  settle(state)
  clearInterval(state.timer)
  state.stop.abort()
  mounted.delete(parentElement)
}

// A new item: the reports so far belong to the previous one.
function turn(state, data) {
  const away = state.away !== null
  if (state.data) settle(state)
  state.data = data
  state.shown = state.active = performance.now()
  state.depth = 0
  if (away || document.hidden || !document.hasFocus()) state.away = state.shown
}

// End the present absence and send all reports.
function settle(state) {
  if (state.away === null) rested(state)
  else returned(state)
  send(state)
}

function leave(state) {
  if (state.away !== null) return
  rested(state)
  state.away = performance.now()
}

function back(state) {
  if (state.away === null || document.hidden) return
  returned(state)
}

function returned(state) {
  tell(state, "away", "", state.away, performance.now() - state.away)
  state.away = null
  state.active = performance.now()
}

function act(state) {
  if (state.away !== null) return
  rested(state)
  state.active = performance.now()
}

function rested(state) {
  const idle = performance.now() - state.active
  if (state.data && idle >= state.data.idle_ms) tell(state, "idle", "", state.active, idle)
  state.active = performance.now()
}

function pressed(state, event) {
  if (!state.data.traced || event.repeat) return
  const target = event.composedPath()[0]
  const key = event.key.toLowerCase()
  const held = event.ctrlKey || event.metaKey
  const sends = key === "enter" && held
  // Never report the text, only that it was sent or left.
  if (target instanceof Element && target.matches(TEXT) && !sends && key !== "escape") return
  if (!KEY.test(key) || (held && !sends) || event.altKey) return
  tell(state, "key", sends ? "ctrl+enter" : key === " " ? "space" : key)
}

function clicked(state, target) {
  const row = state.data.traced && target instanceof Element ? target.closest(".ia-folds") : null
  if (!row) return
  const was = row.classList.contains("ia-open")
  // The listener of the page runs after this one.
  setTimeout(() => {
    const open = row.classList.contains("ia-open")
    if (open !== was) tell(state, open ? "opened" : "closed", row.dataset.n ?? "")
  })
}

function scrolled(state, target) {
  const box = target === document ? document.scrollingElement : target
  if (!state.data.traced || !(box instanceof Element) || box.matches(TEXT) || box.scrollHeight <= box.clientHeight) return
  const depth = Math.min(100, Math.round((100 * (box.scrollTop + box.clientHeight)) / box.scrollHeight))
  // Report each new tenth of the page, not each pixel.
  if (depth < (state.depth ?? 0) + 10 && !(depth === 100 && state.depth < 100)) return
  state.depth = depth
  tell(state, "scrolled", String(depth))
}

function tell(state, kind, detail, at = performance.now(), lasted = 0) {
  if (state.events.length >= MOST) send(state)
  const [ms, lasted_ms] = [at - state.shown, lasted].map((each) => Math.max(0, Math.round(each)))
  state.events.push({ kind, detail, ms, lasted_ms })
}

function send(state) {
  if (!state.events.length) return
  const body = JSON.stringify({ item: state.data.item, events: state.events.splice(0) })
  fetch("page-events", { method: "POST", body, keepalive: true }).catch(() => null)
}
