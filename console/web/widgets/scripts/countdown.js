// Counts down the time left of each waiting agent, in the browser; when it ends, says so and draws the page again.

export default function mount({ data, setTriggerValue }) {
  const tick = () => {
    for (const wait of document.querySelectorAll(".ia-wait[data-left]")) draw(wait, data, setTriggerValue)
    for (const undo of document.querySelectorAll(".ia-undo")) drawUndo(undo, data)
  }
  tick()
  const timer = setInterval(tick, 1000)
  return () => clearInterval(timer)
}

function draw(wait, words, setTriggerValue) {
  // The server states the time left; the clocks of browser and server may differ.
  wait.begun ??= performance.now()
  const passed = performance.now() - wait.begun
  const left = (name) => Number(wait.dataset[name]) - passed
  if (left("left") < 0) {
    wait.className = "ia-wait ia-wait-gone"
    wait.textContent = words.gone.replace("{agent}", wait.querySelector("b").textContent)
    delete wait.dataset.left
    setTimeout(() => setTriggerValue("ended", Date.now()), 300)
    return
  }
  const state = left("approve") <= 0 ? "late" : left("warn") <= 0 ? "soon" : "left"
  wait.className = `ia-wait ia-wait-${state}`
  const said = words[state].replace("{time}", clock(left("approve"), words))
  const place = wait.querySelector(".ia-left")
  if (place && place.textContent !== said) place.textContent = said
}

function drawUndo(undo, words) {
  undo.begun ??= performance.now()
  const left = Number(undo.dataset.undo) - (performance.now() - undo.begun)
  if (left < 0) undo.remove()
  else undo.textContent = words.undo.replace("{time}", clock(left, words))
}

function clock(ms, words) {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds >= 3600) return duration(ms, words)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`
}
