"""A client on the official Python SDK that uses each feature of the matrix once with each server.

The argument is a JSON object with the revision and the connection to Drawbridge:
{"revision", "url", "token"}. Each line of stdin names a fixture server behind Drawbridge. The
output has a line for each feature of each server: {"feature", "ok", "detail"}.
"""

import asyncio
import base64
import json
import sys

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

# The longest time for one feature, in seconds. It is long enough for a loaded machine.
TIMEOUT = 15

TIMED_OUT = f"timed out after {TIMEOUT} s"
SKIPPED = "skipped, because an earlier feature timed out"

JOB = json.loads(sys.argv[1])
LOGGED = asyncio.Queue()
SERVER = ""


def name(original):
    return f"{SERVER}__{original}"


def uri(path):
    return f"{SERVER}://{path}"


async def sample(_context, _params):
    content = types.TextContent(type="text", text="sampled by the client")
    return types.CreateMessageResult(role="assistant", model="a-model", content=content)


async def elicit(_context, _params):
    return types.ElicitResult(action="accept", content={"username": "ada", "email": "ada@example.com"})


async def list_roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///desk", name="desk")])


async def log(params):
    await LOGGED.put((params.level, params.data))


def assert_equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"expected {expected!r}, got {actual!r}")


def assert_includes(values, value):
    if value not in values:
        raise AssertionError(f"{value} is not among {values}")


async def call_for_text(client, tool, arguments=None):
    result = await client.call_tool(name(tool), arguments or {})
    return ",".join(block.text for block in result.content)


async def use_list(client):
    assert_includes([tool.name for tool in (await client.list_tools()).tools], name("test_simple_text"))
    assert_includes([prompt.name for prompt in (await client.list_prompts()).prompts], name("test_simple_prompt"))
    resources = (await client.list_resources()).resources
    assert_includes([str(resource.uri) for resource in resources], uri("watched-resource"))
    templates = (await client.list_resource_templates()).resource_templates
    assert_includes([template.uri_template for template in templates], uri("template/{id}/data"))


async def use_call(client):
    assert_equal(await call_for_text(client, "test_simple_text"), "This is a simple text response for testing.")


async def use_progress(client):
    received = []

    async def on_progress(progress, total, _message):
        received.append((progress, total))

    await client.call_tool(name("test_tool_with_progress"), {}, progress_callback=on_progress)
    assert_equal(received[:2], [(0, 100), (50, 100)])


async def use_cancel(client):
    has_started = asyncio.Event()

    async def on_progress(_progress, _total, _message):
        has_started.set()

    call = asyncio.create_task(client.call_tool(name("test_cancellable"), {}, progress_callback=on_progress))
    await has_started.wait()
    call.cancel()
    try:
        raise AssertionError(f"the call returned {await call}")
    except asyncio.CancelledError:
        pass
    assert_equal(await call_for_text(client, "test_was_cancelled"), "It was cancelled.")


async def use_sampling(client):
    text = await call_for_text(client, "test_sampling", {"prompt": "Say something"})
    assert_equal(text, 'LLM response: "sampled by the client"')


async def use_elicitation(client):
    text = await call_for_text(client, "test_elicitation", {"message": "Who are you?"})
    answer = json.loads(text.removeprefix("User response: "))
    assert_equal((answer["action"], answer["content"]["username"]), ("accept", "ada"))


async def use_roots(client):
    text = await call_for_text(client, "test_input_required_result_list_roots")
    roots = json.loads(text.removeprefix("The roots are "))
    assert_equal([(root["uri"], root["name"]) for root in roots], [("file:///desk", "desk")])


async def use_read(client):
    [text] = (await client.read_resource(uri("static-text"))).contents
    assert_equal((str(text.uri), text.text), (uri("static-text"), "This is the content of the static text resource."))
    [picture] = (await client.read_resource(uri("static-binary"))).contents
    assert_equal((picture.mime_type, base64.b64decode(picture.blob)[1:4]), ("image/png", b"PNG"))


async def use_subscribe(client):
    async with client.listen(resource_subscriptions=[uri("watched-resource")]) as subscription:
        await client.call_tool(name("test_resource_update"), {})
        async for event in subscription:
            assert_equal(str(event.uri), uri("watched-resource"))
            return
    raise AssertionError("the subscription ended")


async def use_prompt(client):
    prompt = await client.get_prompt(name("test_prompt_with_arguments"), {"arg1": "x", "arg2": "y"})
    assert_equal([message.content.text for message in prompt.messages], ["Prompt with arguments: arg1='x', arg2='y'"])


async def use_completion(client):
    ref = types.PromptReference(type="ref/prompt", name=name("test_prompt_with_arguments"))
    completed = await client.complete(ref, {"name": "arg1", "value": "par"})
    assert_equal(completed.completion.values, ["paris", "park", "party"])


async def use_list_changed(client):
    async def is_listed():
        return name("test_added_tool") in [tool.name for tool in (await client.list_tools()).tools]

    before = await is_listed()
    async with client.listen(tools_list_changed=True) as subscription:
        await client.call_tool(name("test_trigger_tool_change"), {})
        async for _ in subscription:
            if await is_listed() != before:
                return
    raise AssertionError("the subscription ended")


async def use_logging(client):
    while not LOGGED.empty():
        LOGGED.get_nowait()
    await client.call_tool(name("test_tool_with_logging"), {})
    for step in ["Tool execution started", "Tool processing data", "Tool execution completed"]:
        assert_equal(await LOGGED.get(), ("info", step))


async def use_structured(client):
    result = await client.call_tool(name("test_structured_content"), {})
    assert_equal(result.structured_content, {"city": "Oslo", "degrees": 21.5})
    assert_equal(json.loads(result.content[0].text), {"city": "Oslo", "degrees": 21.5})


async def use_image(client):
    [block] = (await client.call_tool(name("test_image_content"), {})).content
    assert_equal((block.type, block.mime_type, base64.b64decode(block.data)[1:4]), ("image", "image/png", b"PNG"))


async def use_audio(client):
    [block] = (await client.call_tool(name("test_audio_content"), {})).content
    assert_equal((block.type, block.mime_type, base64.b64decode(block.data)[:4]), ("audio", "audio/wav", b"RIFF"))


FEATURES = {key.removeprefix("use_"): use for key, use in list(globals().items()) if key.startswith("use_")}


async def run_features(client):
    has_timed_out = False
    for feature, use in FEATURES.items():
        problem = SKIPPED if has_timed_out else await find_problem(use, client)
        has_timed_out = has_timed_out or problem == TIMED_OUT
        print(json.dumps({"feature": feature, "ok": problem is None, "detail": problem}), flush=True)


async def find_problem(use, client):
    try:
        async with asyncio.timeout(TIMEOUT):
            await use(client)
    except TimeoutError:
        return TIMED_OUT
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
            list_roots_callback=list_roots,
            logging_callback=log,
            log_level="info",
        ) as client:
            assert_equal(client.protocol_version, JOB["revision"])
            while line := await asyncio.to_thread(sys.stdin.readline):
                SERVER = line.strip()
                await run_features(client)


asyncio.run(main())
