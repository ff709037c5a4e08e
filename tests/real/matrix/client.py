"""Every feature of the protocol, done once with a fixture server behind Drawbridge by the official Python SDK.

The argument says which revision is spoken, and how to get to Drawbridge: {"revision", "url", "token"}. For each server
that a line of stdin names it prints a line for each feature: {"feature", "ok", "detail"}.
"""

import asyncio
import base64
import json
import sys

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

# How long a feature may take on a loaded machine; nothing here waits for it to pass.
BOUND = 15

LATE = f"it was not done within {BOUND} s"
NOT_TRIED = "it was not tried, since something before it was not done in time"

JOB = json.loads(sys.argv[1])
LOGGED = asyncio.Queue()
SERVER = ""


def name(own):
    return f"{SERVER}__{own}"


def uri(place):
    return f"{SERVER}://{place}"


async def sample(_context, _params):
    said = types.TextContent(type="text", text="sampled by the client")
    return types.CreateMessageResult(role="assistant", model="a-model", content=said)


async def elicit(_context, _params):
    return types.ElicitResult(action="accept", content={"username": "ada", "email": "ada@example.com"})


async def roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///desk", name="desk")])


async def log(params):
    await LOGGED.put((params.level, params.data))


def same(got, expected):
    if got != expected:
        raise AssertionError(f"expected {expected!r}, got {got!r}")


def among(everything, one):
    if one not in everything:
        raise AssertionError(f"{one} is not among {everything}")


async def said(client, own, arguments=None):
    result = await client.call_tool(name(own), arguments or {})
    return ",".join(block.text for block in result.content)


async def do_list(client):
    among([one.name for one in (await client.list_tools()).tools], name("test_simple_text"))
    among([one.name for one in (await client.list_prompts()).prompts], name("test_simple_prompt"))
    among([str(one.uri) for one in (await client.list_resources()).resources], uri("watched-resource"))
    templates = (await client.list_resource_templates()).resource_templates
    among([one.uri_template for one in templates], uri("template/{id}/data"))


async def do_call(client):
    same(await said(client, "test_simple_text"), "This is a simple text response for testing.")


async def do_progress(client):
    told = []

    async def hear(progress, total, _message):
        told.append((progress, total))

    await client.call_tool(name("test_tool_with_progress"), {}, progress_callback=hear)
    same(told[:2], [(0, 100), (50, 100)])


async def do_cancel(client):
    works = asyncio.Event()

    async def hear(_progress, _total, _message):
        works.set()

    call = asyncio.create_task(client.call_tool(name("test_cancellable"), {}, progress_callback=hear))
    await works.wait()
    call.cancel()
    try:
        raise AssertionError(f"it was answered: {await call}")
    except asyncio.CancelledError:
        pass
    same(await said(client, "test_was_cancelled"), "It was cancelled.")


async def do_sampling(client):
    same(await said(client, "test_sampling", {"prompt": "Say something"}), 'LLM response: "sampled by the client"')


async def do_elicitation(client):
    answer = await said(client, "test_elicitation", {"message": "Who are you?"})
    answer = json.loads(answer.removeprefix("User response: "))
    same((answer["action"], answer["content"]["username"]), ("accept", "ada"))


async def do_roots(client):
    found = json.loads((await said(client, "test_input_required_result_list_roots")).removeprefix("The roots are "))
    same([(one["uri"], one["name"]) for one in found], [("file:///desk", "desk")])


async def do_read(client):
    [text] = (await client.read_resource(uri("static-text"))).contents
    same((str(text.uri), text.text), (uri("static-text"), "This is the content of the static text resource."))
    [picture] = (await client.read_resource(uri("static-binary"))).contents
    same((picture.mime_type, base64.b64decode(picture.blob)[1:4]), ("image/png", b"PNG"))


async def do_subscribe(client):
    async with client.listen(resource_subscriptions=[uri("watched-resource")]) as subscription:
        await client.call_tool(name("test_resource_update"), {})
        async for event in subscription:
            same(str(event.uri), uri("watched-resource"))
            return
    raise AssertionError("the subscription ended")


async def do_prompt(client):
    prompt = await client.get_prompt(name("test_prompt_with_arguments"), {"arg1": "x", "arg2": "y"})
    same([one.content.text for one in prompt.messages], ["Prompt with arguments: arg1='x', arg2='y'"])


async def do_completion(client):
    ref = types.PromptReference(type="ref/prompt", name=name("test_prompt_with_arguments"))
    completed = await client.complete(ref, {"name": "arg1", "value": "par"})
    same(completed.completion.values, ["paris", "park", "party"])


async def do_list_changed(client):
    async def is_there():
        return name("test_added_tool") in [one.name for one in (await client.list_tools()).tools]

    before = await is_there()
    async with client.listen(tools_list_changed=True) as subscription:
        await client.call_tool(name("test_trigger_tool_change"), {})
        async for _ in subscription:
            if await is_there() != before:
                return
    raise AssertionError("the subscription ended")


async def do_logging(client):
    while not LOGGED.empty():
        LOGGED.get_nowait()
    await client.call_tool(name("test_tool_with_logging"), {})
    for step in ["Tool execution started", "Tool processing data", "Tool execution completed"]:
        same(await LOGGED.get(), ("info", step))


async def do_structured(client):
    result = await client.call_tool(name("test_structured_content"), {})
    same(result.structured_content, {"city": "Oslo", "degrees": 21.5})
    same(json.loads(result.content[0].text), {"city": "Oslo", "degrees": 21.5})


async def do_image(client):
    [block] = (await client.call_tool(name("test_image_content"), {})).content
    same((block.type, block.mime_type, base64.b64decode(block.data)[1:4]), ("image", "image/png", b"PNG"))


async def do_audio(client):
    [block] = (await client.call_tool(name("test_audio_content"), {})).content
    same((block.type, block.mime_type, base64.b64decode(block.data)[:4]), ("audio", "audio/wav", b"RIFF"))


FEATURES = {key.removeprefix("do_"): doing for key, doing in list(globals().items()) if key.startswith("do_")}


async def everything(client):
    is_late = False
    for feature, doing in FEATURES.items():
        why = NOT_TRIED if is_late else await failed(doing, client)
        is_late = is_late or why == LATE
        print(json.dumps({"feature": feature, "ok": why is None, "detail": why}), flush=True)


async def failed(doing, client):
    try:
        async with asyncio.timeout(BOUND):
            await doing(client)
    except TimeoutError:
        return LATE
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


async def main():
    global SERVER
    headers = {"Authorization": f"Bearer {JOB['token']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(JOB["url"], http_client=http)
        async with Client(
            transport,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
            logging_callback=log,
            log_level="info",
        ) as client:
            same(client.protocol_version, JOB["revision"])
            while line := await asyncio.to_thread(sys.stdin.readline):
                SERVER = line.strip()
                await everything(client)


asyncio.run(main())
