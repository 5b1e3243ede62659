"""The catalogues of `console/locale`, made anew: `python -m tests.catalogue` after a change of a text.

It extracts the msgids of the code and of the templates, merges them into each `.po`, and compiles the `.mo`. What no
source says any more goes. A text that has no translation yet is left empty, and a test names it.
"""

import ast
from datetime import UTC, datetime
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import yaml
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from console import environments
from console import errors as console_errors
from console.auth.people import Role
from console.environments.environment import Judging
from console.review.edit_fields import FieldKind
from console.review.presentation import ActionStatus, Block
from console.studies.design.instruments import shelf
from console.trajectory import Outcome
from console.trajectory.provenance import Source
from console.trajectory.requirements import RequirementKind, Standing
from console.trajectory.strict_yaml import read_data
from storage import errors
from storage.tables import DecisionKind, StudyStatus

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES = ROOT / "console" / "locale"
KEYWORDS = {"_": None, "ngettext": (1, 2), "gettext_noop": None}
REFUSALS = {"QueueRefusal", "NotYours", "StorageError"}
TEMPLATES = [("**/templates/*.html", "jinja2.ext.babel_extract")]
CHANGING = ('"POT-', '"PO-Revision', '"Generated-By', '"Report-', '"Last-Translator', '"Language-Team', "# ", "#\n")


def extracted():
    """The catalogue of every msgid in the sources, without a translation."""
    template = Catalog(project="InferAct Console", charset="utf-8", fuzzy=False)
    for path in (*sorted((ROOT / "console").rglob("*.py")), ROOT / "streamlit_app.py"):
        for message in _in_code(ast.parse(path.read_text("utf-8"))):
            template.add(message, locations=[(path.relative_to(ROOT).as_posix(), None)])
    for path in (ROOT / "storage" / "queue" / "__init__.py", ROOT / "storage" / "queue" / "claims.py"):
        for message in _in_code(ast.parse(path.read_text("utf-8")), REFUSALS):
            template.add(message)
    for path, _line, message, _comments, _context in extract_from_dir(ROOT / "console", TEMPLATES, keywords=KEYWORDS):
        template.add(message, locations=[(f"console/{path}", None)])
    for message in (*_names(), *_judgings(), *_onboarding(), *_notices(), *_instruments(), *_refusals()):
        template.add(message)
    return template


def _in_code(tree, names=KEYWORDS):
    """The msgids of a module, those within f-strings too, which Babel's own reader of Python does not see."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if node.func.id == "ngettext":
                yield tuple(texts[:2])
            elif texts:
                yield texts[0]


def _names():
    """The values of enumerations that are drawn by name."""
    return [
        str(member)
        for names in (
            DecisionKind,
            Outcome,
            StudyStatus,
            Role,
            Block,
            ActionStatus,
            FieldKind,
            Source,
            RequirementKind,
            Standing,
        )
        for member in names
    ]


def _judgings():
    """What is wrong in each environment, and the reasons that reviewers choose from."""
    for judging in read_data(files(environments).joinpath("reasons.yaml"), dict[str, Judging]).values():
        yield judging.wrong
        yield from judging.reasons


def _onboarding():
    """The guides of pages, and what participants are told beside the steps of the worked examples."""
    told = yaml.safe_load((ROOT / "console" / "web" / "participant" / "onboarding.yaml").read_text("utf-8"))
    yield from (*told["withdrawal"].values(), *told["recorded"].values(), *told["how"])
    yield from (words for levels in told["levels"].values() for words in levels.values())
    yield from (example["why"] for example in told["examples"].values())
    guides = yaml.safe_load((ROOT / "console" / "web" / "widgets" / "guides.yaml").read_text("utf-8"))
    yield from (text for guide in guides.values() for pair in guide.items() for text in pair if len(text) > 3)


def _notices():
    """The words for the stored values of notices."""
    told = yaml.safe_load((ROOT / "console" / "review" / "notices" / "words.yaml").read_text("utf-8"))
    yield from (words for name in ("kinds", "events", "workers", "failures") for words in told[name].values())


def _instruments():
    """Titles and instructions of the built-in questionnaires, and every text of those that are worded here."""
    for one in shelf().values():
        yield from filter(None, (one.title, one.instructions))
        if one.source.startswith("Own items"):
            yield from (one.ahead, one.scale.low_label, one.scale.high_label)
            yield from (text for item in one.items for text in (item.question, item.ahead))


def _refusals():
    """What the store and the console say of a refusal that has no words of its own."""
    for kind in (*vars(errors).values(), *vars(console_errors).values()):
        if isinstance(kind, type) and issubclass(kind, Exception) and "\n" not in kind.__doc__:
            yield kind.__doc__


def catalogues():
    """The file of each language's catalogue, by its code."""
    return {path.parents[1].name: path for path in sorted(LANGUAGES.glob("*/LC_MESSAGES/console.po"))}


def read(path):
    """The catalogue of that file."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parents[1].name, domain="console")


def compiled(catalogue):
    """The bytes of the `.mo` file, the same for the same texts."""
    catalogue.creation_date = catalogue.revision_date = datetime(2000, 1, 1, tzinfo=UTC)
    made = BytesIO()
    write_mo(made, catalogue)
    return made.getvalue()


def written(catalogue):
    """The bytes of the `.po` file: no dates and no line numbers, which would change with every edit of the code."""
    made = BytesIO()
    write_po(
        made, catalogue, width=120, omit_header=False, sort_output=True, ignore_obsolete=True, include_lineno=False
    )
    lines = made.getvalue().decode("utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(CHANGING)).lstrip().encode()


def main():
    """Brings every catalogue up to date and says what is left to translate."""
    template = extracted()
    for code, path in catalogues().items():
        catalogue = read(path)
        catalogue.update(template, no_fuzzy_matching=True)
        path.write_bytes(written(catalogue))
        path.with_suffix(".mo").write_bytes(compiled(read(path)))
        empty = [message.id for message in catalogue if message.id and not _is_translated(message)]
        print(f"{code}: {len(catalogue)} texts, {len(empty)} not translated")


def _is_translated(message):
    return all(message.string) if isinstance(message.string, (list, tuple)) else bool(message.string)


if __name__ == "__main__":
    main()
