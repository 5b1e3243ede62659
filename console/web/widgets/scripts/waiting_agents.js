// The time since the first agent asked and the time left, counted in the browser; the key G presses the button.
const TEXT_FIELDS = "input, textarea, select, [contenteditable]:not([contenteditable='false'])"
const DIALOG = "[role=dialog], [role=alertdialog], dialog[open]"

export default function mount({ data, parentElement }) {
  const stop = new AbortController()
  const [agents, since] = [".ia-agents", ".ia-since"].map((name) => parentElement.querySelector(name))
  const ahead = Date.now() - data.now // The clocks of browser and server may differ.
  const draw = () => {
    const now = Date.now() - ahead
    const words = [data.words[data.several ? "first" : "for"].replace("{time}", duration(now - data.since, data.words))]
    if (data.deadline !== null) words.push(data.words.left.replace("{time}", duration(data.deadline - now, data.words)))
    agents.textContent = data.said
    since.textContent = (data.several ? ", " : " ") + words.join(", ")
  }
  draw()
  const timer = setInterval(draw, 5000)
  document.addEventListener("keydown", (event) => pressed(event, data), { capture: true, signal: stop.signal })
  return () => {
    clearInterval(timer)
    stop.abort()
  }
}

function pressed(event, data) {
  const target = event.composedPath()[0]
  const typing = target instanceof Element && target.matches(TEXT_FIELDS)
  if (!data.enabled || event.repeat || typing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
  if (event.key.toLowerCase() !== "g") return
  if ([...document.querySelectorAll(DIALOG)].some((each) => each.getClientRects().length > 0)) return
  event.preventDefault()
  press(20)
}

// The text is there a moment before the button.
function press(tries) {
  const button = document.querySelector(".st-key-agents-open button")
  if (button) button.click()
  else if (tries > 0) setTimeout(press, 100, tries - 1)
}
