// Written by script, because a Streamlit page cannot answer with a Set-Cookie header of its own.
export default function mount({ data }) {
  const secure = location.protocol === "https:" ? "; Secure" : ""
  document.cookie = `${data.name}=${data.value}; Path=/; Max-Age=${data.seconds}; SameSite=Strict${secure}`
}
