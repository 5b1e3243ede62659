// The server closes the connection when a session ends; Streamlit then reconnects for ever and keeps the old page.
const STREAMLITS = /Streamlit server is not responding|Is Streamlit still running/
// In a window up to this width, the menu lies over the page and Streamlit leaves it open.
const MENU_COVERS_PX = 768
const PAGE = "[data-testid=stSidebarNavLink]"
const CLOSE = "#stSidebar[data-collapsed=false] [data-testid=stSidebarCollapseButton] button"

export default function mount({ data }) {
  const stop = new AbortController()
  const ask = async () => {
    const answer = await fetch("whoami", { cache: "no-store" }).catch(() => null)
    if (answer?.status !== 401 || stop.signal.aborted) return
    stop.abort()
    document.body.inert = true // the session of this page has ended
    location.assign("sign-in?over=1")
  }
  const app = document.querySelector("[data-testid=stApp]")
  const lost = new MutationObserver(() => {
    if (app.dataset.testConnectionState !== "CONNECTED") ask()
  })
  if (app) lost.observe(app, { attributeFilter: ["data-test-connection-state"] })
  // Streamlit's dialog names a program and commands that visitors do not have.
  const dialogs = new MutationObserver(() => {
    for (const dialog of document.querySelectorAll("[role=dialog]")) {
      if (!STREAMLITS.test(dialog.textContent)) continue
      const [place] = [...dialog.querySelectorAll("p, div")].filter((each) => STREAMLITS.test(each.textContent)).slice(-1)
      dialog.querySelectorAll("pre, code").forEach((each) => each.remove())
      place.textContent = data.lost
    }
  })
  dialogs.observe(document.body, { childList: true, subtree: true, characterData: true })
  stop.signal.addEventListener("abort", () => [lost, dialogs].forEach((each) => each.disconnect()))
  window.addEventListener("focus", ask, { signal: stop.signal })
  document.addEventListener("visibilitychange", () => document.hidden || ask(), { signal: stop.signal })
  ask()
  const close = () => innerWidth <= MENU_COVERS_PX && document.querySelector(CLOSE)?.click()
  const beside = ({ target }) => {
    if (target.closest(PAGE) || !target.closest("#stSidebar, [data-testid=stExpandSidebarButton]")) close()
  }
  document.addEventListener("click", beside, { signal: stop.signal })
  document.addEventListener("keydown", ({ key }) => key === "Escape" && close(), { signal: stop.signal })
  // Streamlit opens the menu again after a reload.
  const forget = () => {
    const kept = innerWidth <= MENU_COVERS_PX ? Object.keys(localStorage) : []
    for (const name of kept) if (name.startsWith("stSidebarCollapsed")) localStorage.setItem(name, "true")
  }
  window.addEventListener("pagehide", forget, { signal: stop.signal })
  return () => stop.abort()
}
