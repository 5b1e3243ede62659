// Set by script, because a Streamlit page cannot send a Set-Cookie header.
export default function mount({ data }) {
  const secure = location.protocol === "https:" ? "; Secure" : ""
  document.cookie = `${data.name}=${data.value}; Path=${location.pathname.replace(/[^/]*$/, "")}; Max-Age=${data.seconds}; SameSite=Strict${secure}`
}
