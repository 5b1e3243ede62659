// One listener for all shortcuts of the page. It presses the buttons of Streamlit by their class `st-key-<key>`.
// Streamlit calls `mount` after each change of data and the returned function at the end, so state is kept per element.
const mounted = new WeakMap()
const DWELL_MS = 400
const REDRAWN_MS = 1000
const SILENCE_MS = 1000
const ANSWER_MS = 5000
const TEXT_FIELDS = "input, textarea, select, [contenteditable]:not([contenteditable='false'])"
const NOT_TEXT = new Set(["button", "checkbox", "radio", "range", "submit", "reset", "file", "color", "image"])
const OWN_ARROWS = "[role=tab], [role=radio], [role=slider], [role=option], [role=menuitem], [role=combobox], [role=grid]"
const OWN_ENTER = "button, a, summary, label, [role=button], [role=tab], [role=menuitem], [role=option], [role=combobox]"
// The spelling of aria-keyshortcuts.
const SPOKEN = { "ctrl+enter": "Control+Enter Meta+Enter", enter: "Enter", arrowleft: "ArrowLeft", arrowright: "ArrowRight" }
const MENU = "[data-testid=stPopoverBody]"
const SUBMIT = "[class*='st-key-submit-'] button"
const DIALOG = "[role=dialog], [role=alertdialog], dialog[open]"

// Streamlit may end this component and begin it again while the page shows the same item, which is not a new item.
let shown = {}
// Drawn at another place of the page, this component begins there before it ends here; the end must not silence the other.
const live = new Set()

export default function mount({ data, parentElement, setTriggerValue }) {
  const state = mounted.get(parentElement) ?? begin(parentElement)
  const before = state.data
  const earlier = shown.item
  live.add(state)
  state.data = data
  if (data.item !== before?.item) state.shownAt = shownAt(data.item)
  if (data.item !== before?.item || data.enabled !== before?.enabled) markReady(state)
  state.send = (value) => setTriggerValue("draft", value)
  showSaved(state)
  markWords(state)
  markKeys(state)
  if (before && data.item !== before.item) announce(state)
  if (data.item !== before?.item) state.sentAt = undefined
  // On the first item of a tab, the focus stays at the top of the page.
  const moves = before ? data.focus !== before.focus : !data.focus?.startsWith("item:") || (earlier && earlier !== data.item)
  if (data.focus && moves) focusSoon(state, data.focus)
  return () => end(state, parentElement)
}

function shownAt(item) {
  const now = performance.now()
  if (shown.item !== item || now - (shown.endedAt ?? now) > REDRAWN_MS) shown = { item, at: now }
  shown.endedAt = undefined
  return shown.at
}

function begin(parentElement) {
  const [status, said] = [".status", ".said"].map((name) => parentElement.querySelector(name))
  const state = { down: new Set(), status, said, sequence: 0, stop: new AbortController() }
  const on = (target, name, handle) => target.addEventListener(name, handle, { capture: true, signal: state.stop.signal })
  on(document, "keydown", (event) => pressed(state, event))
  on(document, "keyup", (event) => state.down.delete(event.code))
  on(window, "blur", () => state.down.clear())
  on(document, "input", (event) => typed(state, event.target))
  on(document, "click", (event) => {
    if (refuses(state, event)) return
    chosen(state, event.target)
  })
  on(document, "focusout", (event) => left(state, event.target))
  on(document, "visibilitychange", () => document.hidden && flush(state))
  on(window, "pagehide", () => flush(state))
  mounted.set(parentElement, state)
  return state
}

// Send nothing after removal: Streamlit would run it in a fragment that no longer exists.
function end(state, parentElement) {
  clearTimeout(state.timer)
  clearTimeout(state.naming)
  clearTimeout(state.waking)
  state.stop.abort()
  mounted.delete(parentElement)
  live.delete(state)
  const [other] = live
  if (other) return markReady(other)
  shown.endedAt = performance.now()
  delete document.body.dataset.iaWords
  delete document.body.dataset.iaKeys
}

function pressed(state, event) {
  const held = event.repeat || state.down.has(event.code)
  state.down.add(event.code)
  if (event.isComposing || !state.data.enabled) return
  const field = textField(event)
  // A menu closes by itself, which needs the focus inside it.
  if (event.key === "Escape") return field?.closest(MENU) ? undefined : field?.blur()
  const name = keyName(event)
  if (!name || (field && name !== "ctrl+enter")) return
  if (name.startsWith("arrow") && ownsArrows(event)) return
  if (name === "enter" && ownsEnter(event)) return
  if ([...document.querySelectorAll(DIALOG)].some((each) => each.getClientRects().length > 0)) return
  const key = state.data.page[name]
  if (!key) return
  event.preventDefault()
  event.stopImmediatePropagation()
  if (name === "ctrl+enter" && state.data.words_key && !hasWords(state)) return
  if (key.startsWith("!")) return say(state, key.slice(1))
  if (key.startsWith("~")) return document.dispatchEvent(new CustomEvent("ia-step", { detail: key.slice(1) }))
  if (name === "ctrl+enter" && isUnchanged(state)) return say(state, state.data.states.same)
  if (held || performance.now() - state.shownAt < DWELL_MS || isSending(state)) return
  if (name === "ctrl+enter" && state.data.field_keys.length) state.sentAt = performance.now()
  press(state, key, field)
}

// An edit may be refused, which returns the focus to its field. Until then a key would act on the item.
function isSending(state) {
  return state.sentAt !== undefined && performance.now() - state.sentAt < ANSWER_MS
}

// Streamlit sends all events of a tick as one message to one destination. Sent with a press, a draft would redirect the
// press to this component's fragment, so the draft is sent later, and dropped if the item changes.
function press(state, key, field) {
  const button = bound(key)
  if (button?.matches("textarea, input")) return button.focus()
  if (!button || button.disabled || button.getAttribute("aria-disabled") === "true") return
  if (state.draft) flushLater(state)
  state.pressing = true
  field?.blur() // commit the typed text before the click, as a mouse does
  button.click()
  state.pressing = false
}

function textField(event) {
  const target = event.composedPath()[0]
  if (!(target instanceof Element) || !target.matches(TEXT_FIELDS)) return null
  return target.matches("input") && NOT_TEXT.has(target.type) ? null : target
}

function ownsArrows(event) {
  const target = event.composedPath()[0]
  return target instanceof Element && (target.matches("input") || target.closest(OWN_ARROWS) !== null)
}

// On a focused button, Enter presses that button; on a radio button it does nothing.
function ownsEnter(event) {
  const target = event.composedPath()[0]
  if (target instanceof Element && target.matches("input[type=radio]")) return false
  return target instanceof Element && target.closest(OWN_ENTER) !== null
}

function keyName(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) return "ctrl+enter"
  // Many layouts need AltGr, or Alt on a Mac, for the brackets.
  if (/^[[\]]$/.test(event.key) && !event.metaKey && (event.altKey || !event.ctrlKey)) return event.key
  if (event.ctrlKey || event.metaKey || event.altKey) return null
  if (event.key === "?") return "?"
  if (event.shiftKey) return null
  // On layouts that need Shift for digits, accept the key without Shift.
  if (/^Digit[1-9]$/.test(event.code)) return event.code.slice(5)
  // A keyboard without Latin letters has the key in the same place.
  const letter = event.key.length === 1 && event.key > "\x7f" && event.code.startsWith("Key")
  return (letter ? event.code.slice(3) : event.key).toLowerCase()
}

function draftKey(state, target) {
  if (!(target instanceof Element) || !target.matches("textarea, input")) return null
  return [...state.data.draft_keys, ...state.data.field_keys].find((key) => target.closest(`.st-key-${CSS.escape(key)}`))
}

function typed(state, target) {
  const key = draftKey(state, target)
  if (!key) return
  markWords(state)
  state.draft = { item: state.data.item, key, text: target.value }
  say(state, state.data.states.typing)
  flushLater(state)
}

function flushLater(state) {
  clearTimeout(state.timer)
  state.timer = setTimeout(() => flush(state), SILENCE_MS)
}

function chosen(state, target) {
  const key = state.data.choice_key
  if (!key || !(target instanceof Element) || !target.closest(`.st-key-${CSS.escape(key)} button`)) return
  state.draft = { item: state.data.item, key, text: "" }
  flushLater(state)
}

// Streamlit sends the text of a field that loses the focus with a run of the page; a draft in the same tick would reduce
// that to a run of this component.
function left(state, target) {
  const key = draftKey(state, target)
  if (key && state.data.field_keys.includes(key)) state.lastField = key
  if (!key || state.pressing) return
  if (!state.data.field_keys.includes(key)) return flush(state)
  clearTimeout(state.timer)
  state.draft = null
  say(state, "")
}

function flush(state) {
  clearTimeout(state.timer)
  const draft = state.draft
  state.draft = null
  if (!draft || draft.item !== state.data.item) return
  state.sequence = Math.max(state.sequence + 1, Date.now())
  state.sentFor = draft.item
  state.send({ ...draft, sequence: state.sequence })
  say(state, state.data.states.saving)
}

function hasWords(state) {
  const area = document.querySelector(`.st-key-${CSS.escape(state.data.words_key ?? "")} textarea`)
  return Boolean(area?.value.trim())
}

// The server gets a text when its field is left, so the page itself tells whether the edit differs.
function isUnchanged(state) {
  const texts = Object.entries(state.data.unchanged ?? {})
  const fields = texts.map(([key, text]) => [bound(key), text]).filter(([field]) => field?.matches("textarea, input:not([role=combobox])"))
  return texts.length > 0 && fields.every(([field, text]) => field.value === text)
}

function refuses(state, event) {
  if (!(event.target instanceof Element) || !event.target.closest(SUBMIT) || !isUnchanged(state)) return false
  event.preventDefault()
  event.stopImmediatePropagation()
  say(state, state.data.states.same)
  return true
}

// A field of the next item appears shortly after this component gets its data.
function markWords(state) {
  const mark = () => {
    if (state.stop.signal.aborted) return
    const [unchanged, submits] = [isUnchanged(state), document.querySelectorAll(SUBMIT)]
    submits.forEach((each) => each.setAttribute("aria-disabled", unchanged))
    // On a phone, nothing else in view says why the button is off.
    const [said, same] = [state.status?.textContent, state.data.states.same]
    if (unchanged && submits.length ? said === "" : said === same) say(state, said ? "" : same)
    if (hasWords(state)) document.body.dataset.iaWords = "yes"
    else delete document.body.dataset.iaWords
  }
  mark()
  clearTimeout(state.marking)
  state.marking = setTimeout(mark, 250)
}

// Mark from when shortcuts act: earlier presses are dropped.
function markReady(state) {
  const keys = Object.values(state.data.page)
  const mark = () => {
    const left = DWELL_MS - (performance.now() - state.shownAt)
    if (left <= 0 && keys.some(bound)) document.body.dataset.iaKeys = state.data.item
    else state.waking = setTimeout(mark, Math.max(left, 50))
  }
  delete document.body.dataset.iaKeys
  clearTimeout(state.waking)
  if (state.data.enabled && keys.length) mark()
}

// The buttons of a new item appear shortly after this component gets its data.
function markKeys(state) {
  const mark = () => {
    const keys = new Map()
    for (const [key, name] of Object.entries(state.data.enabled ? state.data.page : {})) {
      if (name.startsWith("!")) continue
      keys.set(name, [...(keys.get(name) ?? []), SPOKEN[key] ?? key.toUpperCase()])
    }
    for (const [name, pressed] of keys) bound(name)?.setAttribute("aria-keyshortcuts", pressed.join(" "))
  }
  if (!state.data.enabled) document.querySelectorAll("[aria-keyshortcuts]").forEach((each) => each.removeAttribute("aria-keyshortcuts"))
  clearTimeout(state.naming)
  state.naming = setTimeout(mark, 250)
}

// Return the text field or the button of a shortcut.
function bound(name) {
  const [key, place] = name.split("#")
  const found = `.st-key-${CSS.escape(key)}`
  return document.querySelector(`${found} textarea, ${found} input[type=text], ${found} input[type=number]`) ?? document.querySelectorAll(`${found} button`)[place ? place - 1 : 0]
}

function announce(state) {
  state.said.textContent = ""
  setTimeout(() => (state.said.textContent = state.data.said), 50)
}

// The number of messages follows "!", so that each message moves the focus again; `last-field` is the field left last.
function focusSoon(state, wanted) {
  const name = wanted.startsWith("last-field") ? state.lastField ?? state.data.field_keys[0] : wanted.split("!")[0]
  const item = name.startsWith("item:") ? name.slice(5) : null
  const inside = "textarea, input, button"
  const find = () =>
    item
      ? document.querySelector(`[data-item="${CSS.escape(item)}"]`)
      : document.querySelector(`.st-key-${CSS.escape(name)}`)?.querySelector(inside)
  const until = performance.now() + 2000
  const attempt = () => {
    const found = find()
    if (found) {
      state.sentAt = undefined
      return found.focus({ preventScroll: Boolean(item) })
    }
    if (performance.now() < until) requestAnimationFrame(attempt)
  }
  // Draw the item first: setting the focus forces a layout.
  requestAnimationFrame(attempt)
}

function showSaved(state) {
  const { item, saved } = state.data
  if (state.draft?.item === item) return
  if (saved && saved === state.sequence && state.sentFor === item) say(state, state.data.states.saved)
  else if (item !== state.saidFor) say(state, "")
}

function say(state, words) {
  state.saidFor = state.data.item
  if (state.status) state.status.textContent = words
}
