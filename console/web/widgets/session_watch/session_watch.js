// The server closes the connection of a session that has ended; Streamlit then tries again for ever over the old page.
export default function mount() {
  const stop = new AbortController()
  const ask = async () => {
    const answer = await fetch("/whoami", { cache: "no-store" }).catch(() => null)
    if (answer?.status !== 401 || stop.signal.aborted) return
    stop.abort()
    document.body.inert = true // what stands on the page is nobody's any more
    location.assign("/sign-in?over=1")
  }
  const app = document.querySelector("[data-testid=stApp]")
  const lost = new MutationObserver(() => {
    if (app.dataset.testConnectionState !== "CONNECTED") ask()
  })
  if (app) lost.observe(app, { attributeFilter: ["data-test-connection-state"] })
  stop.signal.addEventListener("abort", () => lost.disconnect())
  window.addEventListener("focus", ask, { signal: stop.signal })
  document.addEventListener("visibilitychange", () => document.hidden || ask(), { signal: stop.signal })
  ask()
  return () => stop.abort()
}
