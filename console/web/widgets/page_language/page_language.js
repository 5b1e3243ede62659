// Screen readers choose their voice by the document's language; Streamlit's own page says English.
export default function mount({ data }) {
  document.documentElement.lang = data.language
  if (data.cookie) {
    const secure = location.protocol === "https:" ? "; Secure" : ""
    document.cookie = `${data.cookie}=${data.language}; Path=/; Max-Age=${data.seconds}; SameSite=Strict${secure}`
  }
  return () => (document.documentElement.lang = "en")
}
