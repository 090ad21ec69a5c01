"""Log lines from events, through Python's logging: one logger per name, each line with its compile id."""

from __future__ import annotations

import dis
import io
import logging
import warnings
from difflib import get_close_matches

from framejit import events
from framejit.config import config
from framejit.core.errors import UnknownName, describe
from framejit.core.where import format_chain

NAMES = {
    "framejit": "what is captured, compiled and given up; `dynamo` is another name for it",
    "graph_breaks": "why and where each region ended",
    "recompiles": "which guards failed before a frame was captured again",
    "guards": "the guards of each region",
    "graph_code": "the code of each graph as it goes to the backend",
    "bytecode": "the bytecode of each captured function",
    "programs": "the program of each region",
}
"""The log names and what each shows."""

ROOT = logging.getLogger("framejit")
_LOGGERS = {name: ROOT if name == "framejit" else ROOT.getChild(name) for name in NAMES}


def enable(names: str) -> None:
    """Turn on the logs of these names, as in `TORCH_LOGS`: separated by commas, `+` for more and `-` for less.

    Raises UnknownName, with nothing turned on.
    """
    rows = [_parse(name) for name in names.split(",") if name.strip()]
    for name, level in rows:
        _LOGGERS[name].setLevel(level)
    if rows and not ROOT.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname).1s %(asctime)s %(name)s %(message)s"))
        ROOT.addHandler(handler)


def enable_from_environment() -> None:
    """Turn on what the environment asks for; torch's own names are left to torch, near misses of ours are warned of."""
    for name in filter(None, (part.strip() for part in config.logs.split(","))):
        bare = name.lstrip("+-")
        if bare in NAMES or bare == "dynamo":
            enable(name)
        elif near := get_close_matches(bare, NAMES, 1, 0.8):
            warnings.warn(f"unknown log name {bare!r}; did you mean {near[0]!r}?", stacklevel=2)


def _parse(text: str) -> tuple[str, int]:
    text = text.strip()
    level = {"+": logging.DEBUG, "-": logging.ERROR}.get(text[0], logging.INFO)
    name = text.lstrip("+-")
    if name == "dynamo":
        name = "framejit"
    if name not in NAMES:
        raise UnknownName("log name", name, (*NAMES, "dynamo"))
    return name, level


def _log(name: str, event: events.Event, text: str) -> None:
    _LOGGERS[name].info("%s %s", event.compile_id, text)


def _on(name: str) -> bool:
    return _LOGGERS[name].isEnabledFor(logging.INFO)


def _write(event: events.Event) -> None:
    match event:
        case events.CaptureStart():
            _log("framejit", event, f"capture {event.code.co_qualname} pc={event.pc} ({event.code.co_filename})")
            if _on("bytecode"):
                listing = io.StringIO()
                dis.dis(event.code, file=listing, depth=0)
                _log("bytecode", event, f"{event.code.co_qualname}\n{listing.getvalue()}")
        case events.CaptureEnd():
            _log("framejit", event, f"captured in {event.seconds * 1e3:.1f} ms, {len(event.guards)} guards")
            if _on("guards"):
                _log("guards", event, "\n  ".join([event.code.co_qualname, *event.guards]))
            if _on("programs"):
                _log("programs", event, f"{event.code.co_qualname}\n{event.program[0]}")
        case events.GraphCaptured():
            if _on("graph_code"):
                _log("graph_code", event, event.graph.print_readable(print_output=False))
        case events.GraphCompiled():
            _log(
                "framejit",
                event,
                f"backend {event.backend!r} compiled {event.operators} operators in {event.seconds * 1e3:.1f} ms",
            )
        case events.Break():
            if _on("graph_breaks"):
                text = describe(event.reason, event.guilty, event.detail)
                _log("graph_breaks", event, f"{text}\n{format_chain(event.chain)}")
        case events.Recompile():
            if _on("recompiles"):
                _log("recompiles", event, "\n  ".join([event.code.co_qualname, *event.failures]))
        case events.Fallback():
            text = describe(event.reason, "", event.detail)
            _log("framejit", event, f"{event.code.co_qualname} pc={event.pc} runs in CPython: {text}")
        case events.Retraced():
            _log("framejit", event, f"start over: {event.decision}")


events.subscribe(_write)
enable_from_environment()
