"""A client on the official Python SDK.

Connects to MCP_URL with MCP_TOKEN, lists the tools or calls a tool, and prints the result as JSON.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    job = json.loads(sys.argv[1])
    headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=90) as http:
        async with Client(streamable_http_client(os.environ["MCP_URL"], http_client=http)) as client:
            if job["op"] == "list":
                result = await client.list_tools()
            else:
                result = await client.call_tool(job["name"], job["arguments"])
            print(result.model_dump_json(by_alias=True, exclude_none=True))


asyncio.run(main())
