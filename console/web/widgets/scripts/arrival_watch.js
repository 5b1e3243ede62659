// Notify of new items while the tab is in the background, if the reviewer turned notifications on with the button here.
const KEPT = "inferact-notify"
const known = new Map() // the last number of pending items of each run

export default function mount({ data, parentElement }) {
  if (data.run) tell(data)
  const place = parentElement.querySelector("p")
  const draw = () => data.words && show(place, data.words, draw)
  draw()
}

function tell({ run, waiting, said }) {
  const before = known.get(run)
  known.set(run, waiting)
  const away = document.hidden || !document.hasFocus()
  if (before === undefined || waiting <= before || !away || state() !== "on") return
  const notice = new Notification("InferAct Console", { body: said, tag: KEPT, renotify: true })
  notice.onclick = () => {
    window.focus()
    notice.close()
  }
}

function state() {
  if (!window.isSecureContext || !("Notification" in window)) return "insecure"
  if (Notification.permission === "denied") return "denied"
  return Notification.permission === "granted" && localStorage.getItem(KEPT) === "on" ? "on" : "ask"
}

function show(place, words, draw) {
  const now = state()
  if (now === "denied" || now === "insecure") {
    place.textContent = words[now]
    return
  }
  const button = place.querySelector("button") ?? place.appendChild(document.createElement("button"))
  button.type = "button"
  button.textContent = words[now]
  button.onclick = async () => {
    if (now === "on") localStorage.removeItem(KEPT)
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(KEPT, "on")
    draw()
  }
}
