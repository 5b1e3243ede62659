"""Keys, tokens and passwords of logs: in no byte of the database, equal where they were equal, left on request."""

import string

import orjson
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from console.cli import run_command
from console.database import now_ms
from console.runs import live_traces
from console.runs.secret_masking import Masker
from console.trajectory import Step, Trajectory
from tests.logs import write_log
from tests.sweeps import sweep

ALPHANUMERIC = string.ascii_letters + string.digits


def of(size, alphabet=ALPHANUMERIC):
    # A digit in front: a text of letters alone may be a word.
    return st.text(alphabet, min_size=size - 1, max_size=size + 20).map(lambda text: f"7{text}")


SHAPES = {
    "openai": of(40).map("sk-proj-{}".format),
    "anthropic": of(60).map("sk-ant-api03-{}".format),
    "stripe": of(24).map("sk_live_{}".format),
    "github": of(36).map("ghp_{}".format),
    "gitlab": of(20).map("glpat-{}".format),
    "slack": of(24).map("xoxb-{}".format),
    "google": st.text(ALPHANUMERIC, min_size=35, max_size=35).map("AIza{}".format),
    "hugging face": of(34).map("hf_{}".format),
    "aws": st.text(string.ascii_uppercase + string.digits, min_size=16, max_size=16).map("AKIA{}".format),
    "jwt": st.tuples(of(20), of(30), of(40)).map(lambda three: "eyJ{}.eyJ{}.{}".format(*three)),
    "private key": of(64).map("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----".format),
}
PLACES = {
    "bearer": "curl -H 'Authorization: Bearer {}' https://example.org",
    "basic": '{{"Authorization": "Basic {}"}}',
    "url": "postgresql://app:{}@db.example.org/shop",
    "assigned": "export DB_PASSWORD={} && run",
    "quoted": 'login(user="a", password="{}")',
    "json": '{{"user": "a", "client_secret": "{}"}}',
    "json in json": '{{\\"api_key\\": \\"{}\\"}}',
    "yaml": "aws_secret_access_key: {}\nregion: x",
    "option": "mysql --password {} shop",
    "query": "https://example.org/?access_token={}&page=1",
}
INNOCENT = (
    "login(user=user, password=password)",
    "def connect(password: str, api_key: SecretStr | None = None): ...",
    "PASSWORD=${DB_PASSWORD} api_key=os.environ['KEY'] token: <your token>",
    "Your password: please enter it. The secret is out; max_tokens: 4096",
    "git@github.com:a/b.git http://localhost:8501/a@b sk-learn-is-a-package",
    "getApiKey: async (name) => {}; apiKey = restoredModel",
    "password = ******** secret=xxxxxxxx",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
)


def mask_of_record(text):
    """Return the text as a record with this observation has it after the masking."""
    record = Trajectory("t", "generic", "", (Step("", "", text),))
    return Masker().mask_record(record, record.to_json()).steps[0].observation


@sweep("shape", SHAPES, kept=4)
def test_a_secret_of_a_known_shape_is_masked_wherever_it_stands(shape, data_dir):
    @settings(max_examples=15, deadline=None)
    @given(
        SHAPES[shape],
        st.sampled_from(["", "the key ", "x=", '{"a": "', "`"]),
        st.sampled_from(["", " is it", '"}', "`"]),
    )
    def check(secret, before, after):
        assume(secret not in before)
        masked = Masker().mask_text(f"{before}{secret}{after}")
        assert secret not in masked
        assert masked.startswith(before)
        assert masked.endswith(after)
        assert Masker().mask_text(masked) == masked
        assert Masker().mask_text(secret) == Masker().mask_text(secret) != Masker().mask_text(secret + "Z" * 40)
        assert mask_of_record(f"{before}{secret}{after}") == masked

    check()


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_at_a_place_that_names_it_is_masked_there_and_elsewhere(place, data_dir):
    @settings(max_examples=15, deadline=None)
    @given(of(12))
    @example("7hunter2hunter2")
    def check(secret):
        masker, text = Masker(), PLACES[place].format(secret)
        masked = masker.mask_text(text)
        assert secret not in masked
        assert masked == text.replace(secret, masker.found[secret]) == mask_of_record(text)
        assert Masker().mask_text(masked) == masked
        assert masker.mask_text(f"type {secret} again") == f"type {masker.found[secret]} again"

    check()


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_refers_to_a_secret_stays(text, data_dir):
    masker = Masker()
    assert masker.mask_text(text) == text
    assert masker.masked == 0


def test_a_text_under_the_name_of_a_secret_is_masked_with_its_attributes(data_dir):
    told = {"password": "two words", "list": [{"key": "api_key", "value": {"stringValue": "ab cd 12"}}], "pin": "ab cd"}
    masked = Masker().mask_value(told)
    assert "two words" not in str(masked)
    assert "ab cd 12" not in str(masked)
    assert masked["pin"] == "ab cd"


SECRETS = ("hunter2-hunter3", "ghp_" + "a1B2" * 9, "sk-proj-" + "a1B2" * 10)


def _leaky(number):
    password, token, key = SECRETS
    steps = (
        Step("", 'shell({"command":"cat .env"})', f"DB_PASSWORD={password}\nOPENAI_API_KEY={key}"),
        Step(
            f"The token is {token}.",
            f'login({{"user":"a","password":"{password}"}})',
            "ok",
            {"header": f"Bearer {key}"},
        ),
    )
    extra = {"note": f"typed {password}", "api_key": "abcd efgh"}
    return Trajectory(f"t-{number}", "generic", f"Sign in with {token}", steps, extra=extra)


def _bytes_of(folder):
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.name.startswith("console.db"))


@pytest.mark.parametrize("command", ["import", "follow"])
def test_no_secret_reaches_the_database(command, tmp_path, data_dir, capsys):
    log = write_log(tmp_path / "log.jsonl", _leaky(1), _leaky(2))
    kind = ["trajectory", "import", str(log), "--run", "r"] if command == "import" else ["follow", str(log), "--once"]
    assert run_command(kind) == 0
    held = _bytes_of(data_dir)
    assert b"[masked key" in held
    assert [one for one in (*SECRETS, "abcd efgh") if one.encode() in held] == []
    if command == "import":
        assert "secrets masked (keys, tokens, passwords); --keep-secrets leaves them" in capsys.readouterr().out


def test_equal_secrets_stay_equal_and_the_count_is_told(tmp_path, data_dir, capsys):
    log = write_log(tmp_path / "log.jsonl", _leaky(1))
    assert run_command(["trajectory", "import", str(log), "--run", "r", "--json"]) == 0
    # The password in a result, a call and a note, two keys in a result and a header, a token twice, and `api_key`.
    assert orjson.loads(capsys.readouterr().out)["files"][0]["secrets"] == 8
    assert run_command(["trajectory", "show", "1", "--json"]) == 0
    record = orjson.loads(capsys.readouterr().out)
    shown, typed = record["steps"][0]["observation"], record["steps"][1]["action"]
    mask = shown.split("\n")[0].removeprefix("DB_PASSWORD=")
    assert mask.startswith("[masked secret ")
    assert f'"password":"{mask}"' in typed
    assert run_command(["trajectory", "import", str(log), "--run", "r", "--json"]) == 0
    assert orjson.loads(capsys.readouterr().out)["files"][0]["duplicates"] == 1


def test_secrets_stay_on_request(tmp_path, data_dir, capsys):
    log = write_log(tmp_path / "log.jsonl", _leaky(1))
    assert run_command(["trajectory", "import", str(log), "--run", "r", "--keep-secrets"]) == 0
    assert "masked" not in capsys.readouterr().out
    assert all(one.encode() in _bytes_of(data_dir) for one in SECRETS)


def test_no_secret_of_a_live_trace_is_stored_with_its_spans(data_dir):
    def attributes(**given):
        return [{"key": name, "value": {"stringValue": text}} for name, text in given.items()]

    password, token, key = SECRETS
    told = attributes(
        **{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "login", "password": password},
        **{"gen_ai.tool.call.arguments": f'{{"api_key":"{key}"}}', "gen_ai.tool.call.result": f"Bearer {token}"},
    )
    span = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "x", "startTimeUnixNano": "1", "attributes": told}
    live_traces.store_spans({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, "agent", now_ms())
    assert live_traces.build_due(now_ms())
    held = _bytes_of(data_dir)
    assert b"[masked" in held
    assert [one for one in SECRETS if one.encode() in held] == []


def test_the_mask_depends_on_a_key_of_the_installation(data_dir):
    masked = Masker().mask_text("password=hunter2")
    kept = [path for path in data_dir.rglob("*") if path.name == "masks.secret"]
    assert kept
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)
    assert masked != "password=hunter2"


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60) | st.text("pasword:=\"'\\ -/@[1", max_size=60))
def test_masking_any_text_ends_and_is_done_once(data_dir, text):
    masked = Masker().mask_text(text)
    assert Masker().mask_text(masked) == masked


@pytest.mark.parametrize("before", ["the key:\n", "\t", "İ\n", '"', "\\"])
@pytest.mark.parametrize("secret", ["sk-7abcdefghijklmnopqrst", "AKIA7ABCDEFGHIJKLMNO", "eyJhbGciOiJI.eyJzdWIi.x7"])
def test_a_secret_behind_what_json_escapes_is_masked_in_its_record(before, secret, data_dir):
    record = Trajectory("t", "generic", "Read the task-1 file.", (Step("", "read({})", f"{before}{secret} end"),))
    masked = Masker().mask_record(record, record.to_json())
    assert secret not in masked.to_json()
    assert masked.steps[0].observation.startswith(before)
