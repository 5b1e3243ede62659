// Asks for a look at the queue now and then, and as soon as the tab comes to the front; never while it is hidden.
const mounted = new WeakMap()

export default function mount({ data, parentElement, setTriggerValue }) {
  const state = mounted.get(parentElement) ?? begin(parentElement, data.every_ms)
  state.look = () => document.hidden || setTriggerValue("look", Date.now())
  return () => {
    clearInterval(state.timer)
    state.stop.abort()
    mounted.delete(parentElement)
  }
}

function begin(parentElement, everyMs) {
  const state = { stop: new AbortController() }
  state.timer = setInterval(() => state.look(), everyMs)
  document.addEventListener("visibilitychange", () => state.look(), { signal: state.stop.signal })
  mounted.set(parentElement, state)
  return state
}
