// Screen readers select their voice by the language of the document, which Streamlit sets to English.
export default function mount({ data }) {
  document.documentElement.lang = data.language
  if (data.chosen) {
    const secure = location.protocol === "https:" ? "; Secure" : ""
    document.cookie = `${data.cookie}=${data.chosen}; Path=${location.pathname.replace(/[^/]*$/, "")}; Max-Age=${data.seconds}; SameSite=Strict${secure}`
  }
  return () => (document.documentElement.lang = "en")
}
