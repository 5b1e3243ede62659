// Streamlit gives its field for files a name, and the role of a part without a meaning, which screen readers then ignore.
const FIELD = '[data-testid="stFileUploaderDropzone"][role="presentation"]'

export default function mount() {
  const mend = () => document.querySelectorAll(FIELD).forEach((field) => field.setAttribute("role", "group"))
  mend()
  // The field is drawn anew when its form is cleared or its panel is opened.
  const watch = new MutationObserver(mend)
  watch.observe(document.body, { childList: true, subtree: true })
  return () => watch.disconnect()
}
