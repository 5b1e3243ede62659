// A row is a link, so that it opens in a tab of its own as any other; pressed plainly it opens in this one, at once.
export default function mount({ setTriggerValue }) {
  const stop = new AbortController()
  const press = (event) => {
    const link = event.target.closest?.("a[data-item]")
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    setTriggerValue("opened", Number(link.dataset.item))
  }
  document.addEventListener("click", press, { signal: stop.signal })
  return () => stop.abort()
}
