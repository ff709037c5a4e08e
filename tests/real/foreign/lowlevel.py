"""A stdio server on the low-level API of the official Python SDK 1.x.

It has pagination, resource links and unusual schemas.
"""

import anyio
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

server = Server("lowlevel", version="1.2.3")
PAGE = 3

TOOLS = [
    types.Tool(
        name="recursive",
        title="Recursive ☃",
        description="Takes a tree.",
        inputSchema={
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "https://example.com/tree",
            "definitions": {"node": {"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}}}},
            "type": "object",
            "properties": {"root": {"$ref": "#/definitions/node"}, "big": {"const": 12345678901234567890}},
            "x-vendor": [None, True, 1.5, {"": ""}],
        },
        annotations=types.ToolAnnotations(title="A tree", readOnlyHint=True, idempotentHint=True),
        _meta={"example.com/hue": {"h": 0.1, "list": []}},
    ),
    types.Tool(
        name="no.properties/at-all",
        description="",
        inputSchema={"type": "object", "additionalProperties": False},
    ),
    types.Tool(
        name="any_of",
        description="Line one\nLine two\r\n\ttabbed",
        inputSchema={
            "type": "object",
            "properties": {"v": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}, {"enum": [1, "1"]}]}},
            "if": {"required": ["v"]},
            "then": {"maxProperties": 1},
        },
        outputSchema={"type": "object", "properties": {"got": {}}, "required": ["got"]},
    ),
    types.Tool(name="links", description="Returns links.", inputSchema={"type": "object"}),
    types.Tool(name="media", description="Returns media.", inputSchema={"type": "object"}),
    types.Tool(name="wrong", description="Breaks the protocol's rules.", inputSchema={"type": "object"}),
    types.Tool(name="last", description="Is on the last page.", inputSchema={"type": "object"}),
]

RESOURCES = [
    types.Resource(uri=f"item:///{n}", name=f"Item {n}", mimeType="text/plain", size=n, description="ß" * n)
    for n in range(5)
]


def page(items, request):
    cursor = request.params.cursor if request.params else None
    start = int(cursor or 0)
    more = start + PAGE < len(items)
    return items[start : start + PAGE], str(start + PAGE) if more else None


@server.list_tools()
async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
    tools, cursor = page(TOOLS, request)
    return types.ListToolsResult(tools=tools, nextCursor=cursor)


@server.list_resources()
async def list_resources(request: types.ListResourcesRequest) -> types.ListResourcesResult:
    resources, cursor = page(RESOURCES, request)
    return types.ListResourcesResult(resources=resources, nextCursor=cursor)


@server.list_resource_templates()
async def list_templates():
    return [types.ResourceTemplate(uriTemplate="item:///{n}{?deep*}", name="item", mimeType="text/plain")]


@server.list_prompts()
async def list_prompts():
    argument = types.PromptArgument(name="about", description="What about?", required=True)
    return [types.Prompt(name="ask", title="Ask!", description="Asks", arguments=[argument])]


@server.get_prompt()
async def get_prompt(name: str, arguments: dict[str, str] | None):
    about = (arguments or {}).get("about")
    link = types.ResourceLink(type="resource_link", uri="item:///1", name="Item 1")
    return types.GetPromptResult(
        description=name,
        messages=[
            types.PromptMessage(role="user", content=types.TextContent(type="text", text=f"About {about}")),
            types.PromptMessage(role="assistant", content=link),
        ],
    )


@server.read_resource()
async def read_resource(uri):
    return f"contents of {uri}"


@server.call_tool()
async def call_tool(name: str, arguments: dict):
    if name == "any_of":
        return {"got": arguments.get("v", "nothing")}
    if name == "links":
        listed = types.ResourceLink(type="resource_link", uri="item:///2", name="Item 2", size=2)
        unlisted = types.ResourceLink(type="resource_link", uri="secret://not/listed", name="Not listed")
        return [listed, unlisted]
    if name == "media":
        note = types.Annotations(audience=["user"], priority=0.25)
        text = types.TextResourceContents(uri="item:///3", text="embedded", mimeType="text/plain")
        return [
            types.ImageContent(type="image", data="aGk=", mimeType="image/png", annotations=note),
            types.AudioContent(type="audio", data="aGk=", mimeType="audio/wav", _meta={"example.com/n": 1}),
            types.EmbeddedResource(type="resource", resource=text),
        ]
    if name == "wrong":
        raise RuntimeError("wrong on purpose")
    return [types.TextContent(type="text", text=f"{name} {arguments}")]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
