"""A stand-in for recruiting platforms that follows their documented parameters, and keeps whom they would pay.

Prolific: `external_study_url` with the placeholders {{%PROLIFIC_PID%}}, {{%STUDY_ID%}}, {{%SESSION_ID%}}, and the
completion address `/submissions/complete?cc=CODE`. SONA: %SURVEY_CODE% in the study's address, and the client-side
completion address `/webstudy_credit.aspx?experiment_id=&credit_token=&survey_code=`, which credits a sign-up once.
Mechanical Turk: a task's page stands in a frame, whose address gets assignmentId, hitId, workerId and turkSubmitTo; its
form is sent to `/mturk/externalSubmit` with the assignmentId.
"""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

COMPLETED, SCREENED_OUT, RETURNED = "C0DE1234", "OUT56789", "BACK2468"
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
TOKEN = "9185d436e5f9"
ASSIGNMENT = "3ASSIGNMENT"
# The page that a requester writes: it puts what the platform adds to the frame's address on the study's link.
_TASK = """<!doctype html><title>Task</title><a id="study" target="_blank">Open the study</a>
<form method="post" action="/mturk/externalSubmit"><input type="hidden" id="assignment" name="assignmentId">
<label>Completion code <input name="code"></label><button>Submit</button></form>
<script>
const given = new URLSearchParams(location.search), study = given.get("study")
given.delete("study")
document.getElementById("study").href = `${study}&${given}`
document.getElementById("assignment").value = given.get("assignmentId")
</script>"""


class Platform:
    """What has come back, by platform: the codes of Prolific, the survey codes that SONA credits."""

    def __init__(self):
        self.prolific, self.credited, self.signed_up, self.refused, self.submitted = [], [], set(), [], {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                parts = urlsplit(self.path)
                query = dict(parse_qsl(parts.query))
                if parts.path == "/task":
                    self.show(_TASK)
                elif parts.path == "/worker":
                    self.show(f'<title>Mechanical Turk</title><iframe src="/task?{parts.query}"></iframe>')
                else:
                    self.show(f"<title>Platform</title><h1>{outer.come_back(parts.path, query)}</h1>")

            def do_POST(self):
                sent = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                outer.submitted[sent["assignmentId"]] = sent["code"]
                self.show("<h1>Task submitted</h1>")

            def show(self, html):
                """Answers with that page."""
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(html.encode())

            def log_message(self, *_):
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def come_back(self, path, query):
        """What the platform does with somebody who comes to that address; its words to them."""
        if path == "/submissions/complete" and query.get("cc") in (COMPLETED, SCREENED_OUT, RETURNED):
            self.prolific.append(query["cc"])
            return "Submission recorded"
        code = query.get("survey_code")
        if path == "/webstudy_credit.aspx" and query.get("credit_token") == TOKEN and code in self.signed_up:
            self.credited += [code] if code not in self.credited else []
            return "Credit granted"
        if path != "/favicon.ico":
            self.refused.append((path, query))
        return "Unknown"

    def prolific_url(self, code):
        """The completion address of the Prolific study."""
        return f"{self.url}/submissions/complete?cc={code}"

    def sona_url(self):
        """The client-side completion address of the SONA study."""
        return f"{self.url}/webstudy_credit.aspx?experiment_id=7&credit_token={TOKEN}&survey_code={{outside_id}}"

    def from_prolific(self, link, pid):
        """The study's link as Prolific opens it for a person."""
        filled = {"PROLIFIC_PID": pid, "STUDY_ID": "6543210fedcba", "SESSION_ID": f"session-of-{pid}"}
        return f"{link}&{urlencode(filled)}"

    def from_sona(self, link, survey_code):
        """The study's link as SONA opens it for a sign-up."""
        self.signed_up.add(survey_code)
        return f"{link}&id={survey_code}"

    def task_of_mturk(self, link, worker=""):
        """The address of the task with the study's link as a worker opens it; without a worker it is a preview."""
        more = {"study": link, "assignmentId": ASSIGNMENT if worker else PREVIEW, "hitId": "3HIT"}
        more |= {"workerId": worker} if worker else {}
        return f"{self.url}/worker?{urlencode(more | {'turkSubmitTo': 'https://www.mturk.com'}, quote_via=quote)}"


@contextmanager
def recruiting():
    """The stand-in at work."""
    found = Platform()
    threading.Thread(target=found.server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        found.server.shutdown()
        found.server.server_close()
