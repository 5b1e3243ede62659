"""The programs that have hooks: their settings files, their events, and their behaviour on failures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Host:
    """One program: its settings file, the names of its events, and its unit of time.

    `folder` is the settings folder, relative to the user's home or to the project. `home` names the environment
    variable that replaces the user's settings folder.
    `transcript` is the console's name of the program's transcript format. `closed_since` is the first version that
    blocks a call if its hook cannot run, or None if no version does.
    """

    name: str
    title: str
    program: str
    folder: str
    file: str
    home: str
    before: str
    after: tuple[str, ...]
    prompt: str
    transcript: str
    units_per_s: int
    matcher: str
    closed_since: tuple[int, int, int] | None
    opens: tuple[str, ...]
    """The remaining ways in which a call can run without the hook."""

    def settings_path(self, scope: str, project: Path) -> Path:
        """Return the settings file of the scope `user` or `project`."""
        if scope == "project":
            return project / self.folder / self.file
        own = os.environ.get(self.home) if self.home else None
        return (Path(own) if own else Path.home() / self.folder) / self.file


_KILLED = "the program kills the hook, for example because the machine is suspended beyond its timeout"
HOSTS = {
    host.name: host
    for host in (
        Host(
            name="claude",
            title="Claude Code",
            program="claude",
            folder=".claude",
            file="settings.json",
            home="CLAUDE_CONFIG_DIR",
            before="PreToolUse",
            after=("PostToolUse", "PostToolUseFailure"),
            prompt="UserPromptSubmit",
            transcript="claude-code",
            units_per_s=1,
            matcher="*",
            closed_since=(2, 1, 295),
            opens=("a settings file that is not valid JSON", "the setting disableAllHooks or the option --bare"),
        ),
        Host(
            name="codex",
            title="Codex",
            program="codex",
            folder=".codex",
            file="hooks.json",
            home="CODEX_HOME",
            before="PreToolUse",
            after=("PostToolUse",),
            prompt="UserPromptSubmit",
            transcript="codex",
            units_per_s=1,
            matcher=".*",
            closed_since=None,
            opens=(_KILLED, "a hook that the user has not trusted in /hooks", "[features] hooks = false"),
        ),
        Host(
            name="gemini",
            title="Gemini CLI",
            program="gemini",
            folder=".gemini",
            file="settings.json",
            home="",
            before="BeforeTool",
            after=("AfterTool",),
            prompt="BeforeAgent",
            transcript="gemini-cli",
            units_per_s=1_000,
            matcher=".*",
            closed_since=None,
            opens=(_KILLED, "hooks that are disabled in the settings"),
        ),
    )
}
