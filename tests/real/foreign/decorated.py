"""A server whose definitions the SDK derives from Python's annotations.

Usage: decorated.py LIBRARY TRANSPORT [PORT]

LIBRARY is `sdk1` or `sdk2` for the official SDK 1.x or 2.x, or `fastmcp` for the package with
this name. TRANSPORT is `stdio`, `sse`, `http` or `stateless` (streamable HTTP without sessions, with
JSON responses).
"""

import sys
from enum import Enum
from typing import Annotated, Optional

from pydantic import BaseModel, Field

library, transport = sys.argv[1:3]
port = int(sys.argv[3]) if len(sys.argv) > 3 else 0
PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")

if library == "fastmcp":
    from fastmcp import FastMCP as Server
    from fastmcp.utilities.types import Image

    server = Server("decorated", instructions="Answers, in “odd” ways: é, 日本, 😀.")
elif library == "sdk2":
    from mcp.server.mcpserver import Image, MCPServer as Server

    server = Server("decorated", instructions="Answers, in “odd” ways: é, 日本, 😀.")
else:
    from mcp.server.fastmcp import FastMCP as Server, Image

    settings = {"port": port}
    if transport == "stateless":
        settings |= {"stateless_http": True, "json_response": True}
    server = Server("decorated", instructions="Answers, in “odd” ways: é, 日本, 😀.", **settings)


class Order(str, Enum):
    up = "up"
    down = "down"


class Range(BaseModel):
    low: float | None = Field(None, ge=-1e9)


class Filter(BaseModel):
    """A condition."""

    field: str = Field(description="The field’s name", pattern="^[a-z]+$")
    limits: tuple[float, float] = (0.0, 1e300)
    order: Order = Order.up
    range: Optional[Range] = None


class Report(BaseModel):
    city: str
    degrees: float
    notes: dict[str, list[Optional[int]]]


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def search(filter: Filter, tags: Annotated[list[str], Field(max_length=3)] = []) -> str:
    """Searches with a nested condition."""
    return f"{filter.field} {filter.limits} {filter.order.value} {filter.range} {tags}"


@server.tool()
def report(city: str) -> Report:
    """Reports with a structure."""
    return Report(city=city, degrees=-0.5, notes={"ß": [1, None, 2**53 + 1]})


@server.tool()
def coerced(n: float, on: bool = False, note: Optional[str] = None) -> str:
    """Takes values that Pydantic converts."""
    return f"{n} {on} {note}"


@server.tool()
def picture() -> Image:
    """Returns a picture."""
    return Image(data=PICTURE, format="png")


@server.tool()
def several() -> list[str]:
    """Returns several texts."""
    return ["one\ttab", "two\u2028line", "😀\u0007 </script>"]


@server.tool()
def fail(reason: str) -> str:
    """Fails."""
    raise ValueError(f"it failed: {reason}")


@server.resource("notes://today", name="today", description="Notes of today", mime_type="text/markdown")
def today() -> str:
    return "# Today\n\n“Nothing”"


@server.resource("notes://{day}/{part}")
def note(day: str, part: str) -> str:
    """A part of the notes of a day."""
    return f"{part} of {day}"


@server.prompt()
def review(code: str, language: str = "Rust") -> str:
    """Asks for a review."""
    return f"Review this {language}:\n{code}"


if transport == "stdio":
    server.run("stdio")
elif transport == "sse":
    server.run("sse", **({} if library == "sdk1" else {"port": port}))
elif library == "sdk1":
    server.run("streamable-http")
else:
    options = {"stateless_http": True, "json_response": True} if transport == "stateless" else {}
    server.run("streamable-http", port=port, **options)
