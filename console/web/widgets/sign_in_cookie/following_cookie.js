// The server reads cookies when a tab connects, so a tab that comes to the front with another one has to connect anew.
export default function mount({ data }) {
  const stop = new AbortController()
  const look = () => {
    const found = document.cookie.split("; ").find((each) => each.startsWith(`${data.name}=`)) ?? ""
    if (document.hidden || found.slice(data.name.length + 1) === data.value) return
    stop.abort()
    document.body.inert = true // or the click that brought the tab to the front would still count
    location.reload()
  }
  window.addEventListener("focus", look, { signal: stop.signal })
  document.addEventListener("visibilitychange", look, { signal: stop.signal })
  return () => stop.abort()
}
