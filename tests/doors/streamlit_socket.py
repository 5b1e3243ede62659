"""Streamlit's websocket as a browser speaks it, in its own protobufs: open a page, read it, press what is on it."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

_LONGEST_S = 20


class Refused(Exception):
    """The websocket was not opened, or a file not made; holds the HTTP status, or what was said."""


@dataclass(frozen=True)
class Shown:
    """What a run of the script sent: its words, the ids of its buttons by their keys, files to fetch, all pages."""

    words: str
    buttons: dict[str, str]
    deferred: dict[str, str]
    pages: dict[str, str]
    """Script hash by address."""


class Tab:
    """A browser's tab on the console at that port; a context manager."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._port, self._headers, self._page, self._stack = port, headers, ClientState(), ExitStack()
        self.session = ""

    def __enter__(self) -> Tab:
        more = {name: value for name, value in self._headers.items() if name not in ("Host", "Origin")}
        try:
            opening = connect(
                f"ws://{self._headers['Host']}/_stcore/stream",
                sock=self._stack.enter_context(socket.create_connection(("127.0.0.1", self._port))),
                origin=self._headers.get("Origin"),
                additional_headers=more,
                subprotocols=["streamlit"],
                max_size=None,
                max_queue=None,
                proxy=None,
            )
            self._socket = self._stack.enter_context(opening)
        except InvalidStatus as refused:
            self._stack.close()
            raise Refused(refused.response.status_code) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, page: str = "", **query: str) -> Shown:
        """Opens that address as a browser that types it does."""
        self._page = ClientState(page_name=page, query_string=urlencode(query))
        return self._run(self._page)

    def press(self, button: str, **query: str) -> Shown:
        """Presses the button of that id on the page that is open."""
        pressed = ClientState()
        pressed.CopyFrom(self._page)
        pressed.widget_states.CopyFrom(WidgetStates(widgets=[WidgetState(id=button, trigger_value=True)]))
        return self._run(pressed)

    def wait_for(self, words: str) -> None:
        """Returns once the server has sent those words by itself."""
        while words not in unescape(_read_any(self._next())):
            pass

    def file_of(self, deferred_id: str) -> str:
        """The address of a file that a download button makes when it is pressed."""
        message = BackMsg()
        message.backend_operation_request.request_id = "file"
        message.backend_operation_request.session_id = self.session
        message.backend_operation_request.deferred_file.file_id = deferred_id
        self._socket.send(message.SerializeToString())
        while not (said := self._next()).HasField("backend_operation_response"):
            pass
        if said.backend_operation_response.error_msg:
            raise Refused(said.backend_operation_response.error_msg)
        return said.backend_operation_response.deferred_file.url

    def drop(self) -> None:
        """Reads what the server has sent by itself until now, and forgets it."""
        with suppress(TimeoutError):
            while True:
                self._socket.recv(timeout=0)

    def _run(self, state: ClientState) -> Shown:
        self._socket.send(BackMsg(rerun_script=state).SerializeToString())
        return self.read()

    def read(self) -> Shown:
        """Returns what the script that runs, or runs next, sends until it has finished."""
        words: list[str] = []
        shown = Shown("", {}, {}, {})
        while True:
            said = self._next()
            kind = said.WhichOneof("type")
            if kind == "new_session":
                self.session = said.new_session.initialize.session_id
            elif kind == "navigation":
                shown.pages.update({page.url_pathname: page.page_script_hash for page in said.navigation.app_pages})
                self._page.page_script_hash = said.navigation.page_script_hash
            elif kind == "delta" and said.delta.WhichOneof("type") == "new_element":
                words.append(_read(said.delta.new_element, shown))
            elif kind == "script_finished" and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return Shown(unescape("\n".join(filter(None, words))), shown.buttons, shown.deferred, shown.pages)

    def _next(self) -> ForwardMsg:
        said = ForwardMsg()
        said.ParseFromString(self._socket.recv(timeout=_LONGEST_S))
        return said


def _read_any(said: ForwardMsg) -> str:
    if said.WhichOneof("type") != "delta" or said.delta.WhichOneof("type") != "new_element":
        return ""
    return _read(said.delta.new_element, Shown("", {}, {}, {}))


def _read(element, shown: Shown) -> str:
    """The element's own words; its buttons and files are noted beside."""
    kind = element.WhichOneof("type")
    found = getattr(element, kind)
    if kind == "button":
        shown.buttons[_key(found.id)] = found.id
    if kind == "download_button" and found.deferred_file_id:
        shown.deferred[_key(found.id)] = found.deferred_file_id
    return str(getattr(found, "body", ""))


def _key(widget_id: str) -> str:
    """The key that the page gave the widget: the last part of `$$ID-digest-key`."""
    return widget_id.split("-", 2)[2]
