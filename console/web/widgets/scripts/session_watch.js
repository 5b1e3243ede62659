// The server closes the connection when a session ends; Streamlit then reconnects for ever and keeps the old page.
export default function mount() {
  const stop = new AbortController()
  const ask = async () => {
    const answer = await fetch("/whoami", { cache: "no-store" }).catch(() => null)
    if (answer?.status !== 401 || stop.signal.aborted) return
    stop.abort()
    document.body.inert = true // the session of this page has ended
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
