// A page that replaces a longer one keeps its scroll position, so each stage of a participant starts at its top.
let shown = null

export default function mount({ data }) {
  if (data.stage === shown) return
  shown = data.stage
  const box = document.querySelector('[data-testid="stMain"]')
  const rise = () => {
    box?.scrollTo({ top: 0, behavior: "instant" })
    window.scrollTo({ top: 0, behavior: "instant" })
  }
  rise()
  // The new stage arrives in several frames, and the browser restores the position while it grows.
  const late = [50, 150, 400].map((ms) => setTimeout(rise, ms))
  return () => late.forEach(clearTimeout)
}
