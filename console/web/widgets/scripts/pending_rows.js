// A row is a link, so it can open in a new tab; a plain click opens it in this tab without loading the page again.
export default function mount({ setTriggerValue }) {
  const stop = new AbortController()
  const press = (event) => {
    const row = event.target.closest?.("tr, a[data-item]")
    const link = row?.matches("a") ? row : row?.querySelector("a[data-item]")
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    setTriggerValue("opened", Number(link.dataset.item))
  }
  document.addEventListener("click", press, { signal: stop.signal })
  return () => stop.abort()
}
