
// A duration as `age` of status.py writes it, for scripts that count in the browser.
function duration(ms, words) {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)]
  if (minutes < 1) return `${seconds}\u00a0s`
  if (hours < 1) return `${minutes}\u00a0min`
  if (hours >= 48) return words.days.replace("{count}", Math.floor(hours / 24))
  return hours < 10 && minutes % 60 ? `${hours}\u00a0h ${minutes % 60}\u00a0min` : `${hours}\u00a0h`
}
