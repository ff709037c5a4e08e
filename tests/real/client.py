"""A client on the official Python SDK: connects to MCP_URL with MCP_TOKEN, does one thing, prints the answer as JSON."""

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
                answer = await client.list_tools()
            else:
                answer = await client.call_tool(job["name"], job["arguments"])
            print(answer.model_dump_json(by_alias=True, exclude_none=True))


asyncio.run(main())
