"""The countable part of plain English: what no docstring, page, error, help text or document may say.

`python -m tests.words console/gate README.md` lists the violations below these paths; without paths, all of them.
"""

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
READ = ("console", "storage", "streamlit_app.py", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
STRICT = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
"""The documents, besides the handbook, whose sentences are short and name their subject."""
LONGEST_SENTENCE = 25

# (what is wrong, what to write instead)
PHRASES = (
    (r"\b(?:is|are|was|were) no\b(?! (?:longer|more than|less than|fewer than|later than|one\b))", "is not a"),
    (r"\bnone where\b|\bnull where\b", "None if"),
    (r"\bwhere (?:there|it|they|none|nothing|no|nobody|somebody|one|that|those|he|she|you) ", "if"),
    (r"\bwhoever\b|\bwhomever\b", "name the person"),
    (r"\bnobody\b", "no one, or name the role"),
    (r"\b(?:what|items?|those that) waits?\b|\bcomes? to wait\b", "pending items, new item"),
    (r"\bstands? first\b|\bnext to be offered\b", "next item"),
    (r"\bpass(?:ed|es)? (?:it |them )?on to\b|\bpassed on\b", "escalate"),
    (r"\bescalated by\b", "escalate, escalated"),
    (r"\byour words\b|\bthe words to the agent\b|\bwhat came of\b|\baftermath\b", "feedback, outcome of your feedback"),
    (r"\banswers to judge\b", "Rate answers"),
    (r"\bin your hands\b|\bheld for you\b", "claimed by you, claim expires in"),
    (r"\bput(?:s)? (?:aside|off)\b|\bset aside\b", "skip, skipped"),
    (r"\b(?:take|takes|taken|took) (?:\w+ ){0,3}back\b", "undo"),
    (r"\bnobody looked at\b|\buninspected\b", "not inspected"),
    (r"\bgot stuck\b|\bgets stuck\b", "halted"),
    (r"\bis about to happen\b|\babout to happen\b", "critical action"),
    (r"\bcannot be told\b|\bis told\b|\bare told\b", "inconclusive; name the verb"),
    (r"\bflatters?\b", "is optimistic (tuned on this data)"),
    (r"\bfit what was seen\b", "the data are compatible with"),
    (r"\bkeep(?:s|ing)? house\b|\bhousekeeping\b", "maintenance"),
    (r"\bwhat they took\b|\bwhat (?:it|this|that) took\b", "time and cost"),
    (r"\bwhat this makes\b", "preview"),
    (r"\ba name twice\b", "duplicate key"),
    (r"\bthe way back\b|\bgo back by\b", "return to"),
    (r"\btaken for\b", "interpreted as"),
    (r"\blapsed?\b|\blapses\b", "expired claim"),
    (r"\broll-out\b", "rollout"),
    (r"\bof another time\b|\bof earlier times\b", "imported log"),
    (r"\bthe same, (?:told|but|with|for|of|as)\b", "name the thing again"),
    (r"\bmade anew\b|\banew\b", "again"),
    (r"\ball else\b", "everything else"),
    (r"\b(?:come|comes|came|coming) in by\b|\bonce you are in\b|\bto the sign-in\b", "sign in, sign-in page"),
    (r"\bgo-ahead\b", "approval"),
    (r"\bsession is over\b", "the session has ended"),
    (r"\b(?:does|do|did) not answer\b|\banswered without\b", "does not respond, is unreachable"),
    (r"\bevery two (?:conditions|people|reviewers|simulated)\b|\bcorrected by holm\b", "every pair of; Holm-corrected"),
    (r"\banother \w+(?: or \w+)? than\b|\b(?:something|anything) else than\b", "a different X than, an X other than"),
    (r"\bon a server\b", "with PostgreSQL"),
    (r"\b(?:knows?|of|no|including) the gold\b(?! (?:target|label|answer|file))", "gold target, gold label"),
    (r"\bpoint(?:s|ing)? at (?:a )?missing\b", "reference a missing row"),
    (r"; (?:affects|counts|withdraw again|claim again|ask again)\b", "give the clause its subject or its verb"),
    (r"\b[Tt]he header (?-i:[A-Z])[a-z]+\b", "the `X` header"),
    (r"(?-i:\bRaises [A-Z])", "Raise X"),
    (r"\bin the data[.,]", "in the reference answer; name the table"),
)
PHRASE = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in PHRASES]
NOT_A_VERB = re.compile(
    r"(?:the|an?|whether|what|which|how|who|whose|all|every|each|one|that|those|these|its?|is|are|true|false|none|where|"
    r"when|if|same|nothing|both|any|some|no|as|in|of|by|with|for|from|up|this|there|so|here)\b",
    re.IGNORECASE,
)
OPENING_PRONOUN = re.compile(
    r"[\W_]*(?:They|It|Its|Their|(?:This|That) (?:\w*[^\Ws]s|can|may|must|will)|"
    r"(?:These|Those) (?:are|were|have|can|may|must|will|do|hold|mean|count))\b"
)
VERBS_IN_S = {
    "pass",
    "process",
    "press",
    "suppress",
    "compress",
    "guess",
    "assess",
    "address",
    "express",
    "discuss",
    "focus",
}
SQL = re.compile(
    r"^\s*(?:select|insert|update|delete|create|with|pragma|alter)\b[\s\S]*\b(?:from|into|set|table|as)\b", re.I
)


@dataclass(frozen=True)
class Text:
    """A text that a person reads: its file, line and kind (docstring, text, comment, document, name)."""

    path: Path
    line: int
    kind: str
    text: str
    is_function: bool = False


def list_texts(paths: list[Path]) -> Iterator[Text]:
    """Yield every text below the paths."""
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.suffix == ".py" and "versions" not in file.parts:
                yield from _list_python(file)
            elif file.suffix == ".md":
                yield from _list_markdown(file)
            elif file.suffix == ".yaml" and "tables" not in file.parts:
                yield from _list_yaml(file)
            elif file.suffix == ".html":
                yield from _list_html(file)


def _list_python(file: Path) -> Iterator[Text]:
    source = file.read_text()
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = set()
    for node in nodes:
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            first = node.body[0].value
            docstrings.add(first)
            yield Text(file, first.lineno, "docstring", ast.get_docstring(node), _is_action(node))
    parts = docstrings | {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            text = node.value
        else:
            continue
        if text.count(" ") >= 3 and not SQL.match(text) and "(?" not in text:
            yield Text(file, node.lineno, "text", text)
    if "#" not in source:
        return
    with file.open("rb") as lines:
        for token in tokenize.tokenize(lines.readline):
            if token.type == tokenize.COMMENT:
                yield Text(file, token.start[0], "comment", token.string.lstrip("# "))


def _is_action(node: ast.AST) -> bool:
    """Return whether the node is a function whose docstring starts with a verb: neither a property nor an overload."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return not any("property" in ast.unparse(mark) for mark in node.decorator_list)


def _list_markdown(file: Path) -> Iterator[Text]:
    is_code, paragraph, start = False, [], 0
    for number, line in enumerate([*file.read_text().splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        ends = is_code or not line.strip() or re.match(r"\s*(?:[-*|#>]|\d+\.)", line) or line.startswith("```")
        if ends and paragraph:
            yield Text(file, start, "document", re.sub(r"`[^`]*`", "code", " ".join(paragraph)))
            paragraph = []
        if not is_code and line.strip() and not line.lstrip().startswith("```"):
            start = start if paragraph else number
            paragraph.append(line.strip())


def _list_yaml(file: Path) -> Iterator[Text]:
    """Yield every text of a data file with the line on which the text starts."""
    for node in yaml.parse(file.read_text(), yaml.CSafeLoader):
        if isinstance(node, yaml.ScalarEvent) and node.value.count(" ") >= 3:
            kind = "text" if re.search(r"[.!?]$", node.value) else "name"
            yield Text(file, node.start_mark.line + 1, kind, node.value)


def _list_html(file: Path) -> Iterator[Text]:
    """Yield every translatable text of a template."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for text in re.findall(r'_\("([^"]+)"\)', line):
            yield Text(file, number, "text", text)


def list_violations(paths: list[Path]) -> Iterator[str]:
    """Yield `file:line: kind: what is wrong` for each violation below the paths."""
    for text in list_texts(paths):
        for wrong in _judge_text(text):
            path = text.path.relative_to(ROOT) if text.path.is_relative_to(ROOT) else text.path
            yield f"{path}:{text.line}: {text.kind}{wrong}"


def _judge_text(text: Text) -> Iterator[str]:
    """Yield what is wrong with a text."""
    flat = " ".join(text.text.split())
    for pattern, instead in PHRASE:
        for match in pattern.finditer(flat):
            around = flat[max(0, match.start() - 30) : match.end() + 30]
            yield f": {match.group(0)!r} -> {instead}   ...{around}..."
    if text.kind == "docstring" and text.is_function and not _starts_with_verb(flat):
        yield f": starts with no verb: {flat[:70]}"
    if text.kind == "text" and (long := _longest_sentence(flat)) > LONGEST_SENTENCE:
        yield f": a sentence of {long} words: {flat[:90]}"
    if text.kind == "document" and ("handbook" in text.path.parts or text.path.name in STRICT):
        yield from (f": {wrong}" for wrong in _judge_sentences(flat))


def _judge_sentences(text: str) -> Iterator[str]:
    """Yield what is wrong with the length or the first word of each sentence or table cell of a paragraph."""
    for sentence in re.split(r"\s*\|\s*|(?<=[.!?])\s+|(?<=[:;])\s+(?=[A-Z])", re.sub(r"^(?:[-*#]+|\d+\.) ", "", text)):
        if len(sentence.split()) > LONGEST_SENTENCE:
            yield f"a sentence of {len(sentence.split())} words: {sentence[:90]}"
        if OPENING_PRONOUN.match(sentence):
            yield f"starts with a pronoun; name the thing: {sentence[:70]}"


def _starts_with_verb(docstring: str) -> bool:
    first = re.split(r"[\s.,:;(]", docstring, maxsplit=1)[0].strip("`").lower()
    if NOT_A_VERB.fullmatch(first):
        return False
    return not first.endswith("s") or first in VERBS_IN_S


def _longest_sentence(text: str) -> int:
    if not re.match(r"[A-Z]", text):
        return 0
    return max(len(sentence.split()) for sentence in re.split(r"(?<=[.!?:;])\s", text))


def main() -> None:
    """Print the violations below the paths of the command line, and their number."""
    paths = [Path(word).resolve() for word in sys.argv[1:]] or [ROOT / name for name in READ]
    found = list(list_violations(paths))
    print("\n".join([*found, f"{len(found)} violations"]))


if __name__ == "__main__":
    main()
