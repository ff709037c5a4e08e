#!/usr/bin/env python3
"""Stands in for `uvx --from docling-mcp[local]==VERSION PROGRAM ARGS`.

Records its arguments and each conversion in `docling.jsonl` in the home folder. The content of a
document, or the file `docling-models` in the home folder, can make it fail or wait.
"""

import json
import os
import pathlib
import sys
import time

HOME = pathlib.Path(os.environ["HOME"])
REASON = """\
[11/23/26 23:04:09] ERROR    Tool                                  server.py:455
                             raised an unexpected exception
                             ╭─ Traceback (most recent call last─╮
                             │   210 │   │   │   raise ToolError │
                             ╰───────────────────────────────────╯
                             ImportError: Local conversion mode
                             requires docling-mcp[local] extra.

                             The above exception was the direct
                             cause of the following exception:

                             UnexpectedToolError: Error executing
                             tool
"""


def record(**entry):
    with (HOME / "docling.jsonl").open("a") as file:
        file.write(json.dumps(entry) + "\n")


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name, argument):
    schema = {"type": "object", "properties": {argument: {"type": "string"}}}
    return {"name": name, "inputSchema": schema}


TOOLS = [
    tool("convert_document_into_docling_document", "source"),
    tool("export_docling_document_to_markdown", "document_key"),
    tool("remove_document_from_local_cache", "document_key"),
]
documents = {}


def convert(source):
    path = pathlib.Path(source)
    content = path.read_bytes()
    mode = f"{path.stat().st_mode & 0o777:o}"
    folder = f"{path.parent.stat().st_mode & 0o777:o}"
    record(converted=source, mode=mode, folder=folder)
    if content.startswith(b"fail"):
        sys.stderr.write(REASON)
        sys.stderr.flush()
        return None
    key = f"document-{len(documents)}"
    documents[key] = "# " + content.decode()
    return {"from_cache": False, "document_key": key}


def call(name, arguments):
    match name:
        case "convert_document_into_docling_document":
            result = convert(arguments["source"])
        case "export_docling_document_to_markdown":
            key = arguments["document_key"]
            result = {"document_key": key, "markdown": documents[key]}
        case "remove_document_from_local_cache":
            del documents[arguments["document_key"]]
            result = {"dropped": True}
    if result is None:
        text = {"type": "text", "text": f"Error executing tool {name}"}
        return {"content": [text], "isError": True}
    text = {"type": "text", "text": json.dumps(result)}
    return {"content": [text], "structuredContent": result, "isError": False}


def serve():
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "notifications/cancelled":
            record(cancelled=True)
        if "id" not in message:
            continue
        reply = {"id": message["id"]}
        params = message.get("params", {})
        match message["method"]:
            case "initialize":
                reply["result"] = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "docling", "version": "1"},
                }
            case "ping":
                reply["result"] = {}
            case "tools/list":
                reply["result"] = {"tools": TOOLS}
            case "tools/call":
                source = params["arguments"].get("source")
                if source and pathlib.Path(source).read_bytes() == b"wait":
                    record(waits=source)
                    continue
                reply["result"] = call(params["name"], params["arguments"])
            case method:
                reply["error"] = {"code": -32601, "message": f"no method {method}"}
        send(reply)


def download(arguments):
    file = HOME / "docling-models"
    behaviour = file.read_text() if file.exists() else ""
    if behaviour == "fail":
        sys.exit("OSError: the host of the models cannot be reached")
    if behaviour == "wait":
        record(downloads=True)
        time.sleep(600)
    while behaviour == "until" and file.exists():
        time.sleep(0.05)
    folder = pathlib.Path(arguments[arguments.index("--output-dir") + 1])
    (folder / "model.safetensors").write_bytes(b"\0" * 3 * 1024 * 1024)


_, package, program, *arguments = sys.argv[1:]
record(package=package, program=program, arguments=arguments)
if program == "docling-tools":
    download(arguments)
else:
    serve()
