import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import type { ApprovalRequest, Call, GuardedMethod } from "../ipc";
import type { FakeHub } from "../ipc/fake";
import * as data from "../ipc/fake/data";
import { advanceTime, follow, listParams, open, user, withFakeTime } from "../test/app";
import { button, CLICK_GUARD_MS, decisions, openPopup } from "../test/popup";

withFakeTime();

const URI = "file:///notes/today.md";
const NO_TOOL = { tool_title: null, description: "", annotations: data.NO_HINTS };

const addRequest = (hub: FakeHub, part: Partial<ApprovalRequest>) =>
  hub.addApproval({ ...NO_TOOL, server: "files", server_name: "files", client: "cursor", ...part });
const addRead = (hub: FakeHub, part: Partial<ApprovalRequest> = {}) =>
  addRequest(hub, {
    method: "resources/read",
    tool: URI,
    arguments: JSON.stringify({ uri: URI }),
    ...part,
  });
const addPrompt = (hub: FakeHub) =>
  addRequest(hub, {
    method: "prompts/get",
    tool: "review",
    arguments: '{"name":"review","arguments":{"n":"1"}}',
  });
const addSampling = (hub: FakeHub) =>
  addRequest(hub, {
    method: "sampling/createMessage",
    tool: "",
    arguments: '{"messages":[],"maxTokens":9}',
  });

const card = () => screen.getByTestId("approval-card");
const text = (element: Element | null | undefined) =>
  element?.textContent.replaceAll(/\s+/g, " ").trim();
const sentence = () => text(card().querySelector(".sentence"));

describe("the card of a guarded request", () => {
  it.each<[GuardedMethod, string, string]>([
    ["tools/call", "read", "cursor wants to call read of files"],
    ["prompts/get", "review", "cursor wants the prompt review of files"],
    ["resources/read", URI, `cursor wants to read ${URI} of files`],
    ["resources/subscribe", URI, `cursor wants to watch ${URI} of files`],
    ["completion/complete", "review", "cursor wants completions for review of files"],
    ["tasks/get", "read", "cursor wants to follow a task of read of files"],
    ["tasks/update", "read", "cursor wants to answer a task of read of files"],
    ["tasks/cancel", "read", "cursor wants to cancel a task of read of files"],
    ["sampling/createMessage", "", "files wants a message from cursor's model"],
    ["elicitation/create", "", "files wants to ask you for input in cursor"],
    ["roots/list", "", "files wants to know the folders of cursor"],
  ])("of %s says who wants what", async (method, tool, expected) => {
    await openPopup((hub) => addRequest(hub, { method, tool }));
    expect(sentence()).toBe(expected);
    expect(card().getAttribute("aria-label")).toBe(expected);
  });

  it("shows the server's id beside a name that differs", async () => {
    await openPopup((hub) => addRead(hub, { server_name: "filesystem" }));
    expect(sentence()).toBe(`cursor wants to read ${URI} of filesystem (ID files)`);
  });

  it("offers editing only for a call", async () => {
    await openPopup((hub) => {
      addRead(hub);
      hub.addApproval();
    });
    expect(screen.queryByTestId("edit")).toBeNull();
    await user.click(button("popup-next"));
    expect(screen.getByTestId("edit")).toBeTruthy();
  });

  it("shows the params, and no claims about a tool", async () => {
    await openPopup((hub) => addRead(hub));
    expect(within(card()).getByRole("heading", { name: "Params" })).toBeTruthy();
    expect(screen.getByTestId("arguments").textContent).toContain(URI);
    expect(card().textContent).not.toContain("what the tool changes");
  });

  it("says that the server sends a request to the client", async () => {
    await openPopup((hub) => addSampling(hub));
    expect(card().textContent).toContain("The server sends this request to the client.");
  });

  it("is not shared by different methods", async () => {
    await openPopup((hub) => {
      addRead(hub);
      addRead(hub, { method: "resources/subscribe" });
      addRead(hub);
    });
    expect(card().textContent).toContain("1 of 2 similar requests");
    await user.click(button("batch-open"));
    await advanceTime(CLICK_GUARD_MS);
    expect(sentence()).toBe(`cursor wants to read ${URI} of files 2 times`);
    expect(screen.getByTestId("batch-list").textContent).toContain(
      "2 requests with exactly these params",
    );
    await user.click(button("batch-approve"));
    await advanceTime(1);
    expect(screen.getByTestId("approvals-status").textContent).toBe("2 requests approved.");
  });

  it("asks whether the client may see a held result", async () => {
    await openPopup((hub) => addRead(hub, { result: '{"contents":[]}' }));
    expect(sentence()).toBe(`Show the result of resources/read ${URI} of files to cursor?`);
    expect(card().textContent).toContain("The server has already answered.");
  });

  it("asks whether the server may see a held answer of the client", async () => {
    await openPopup((hub) =>
      addRequest(hub, { method: "roots/list", tool: "", result: '{"roots":[]}' }),
    );
    expect(sentence()).toBe("Show the answer of cursor to roots/list to files?");
    expect(card().textContent).toContain("The client has already answered.");
  });
});

describe("a longer approval of a guarded request", () => {
  const cardText = () => text(card());

  async function openLonger(add: (hub: FakeHub) => ApprovalRequest) {
    const hub = await openPopup(add);
    await user.click(button("approve-more"));
    return hub;
  }

  it("covers only this prompt", async () => {
    const hub = await openLonger(addPrompt);
    expect(cardText()).toContain(
      "later requests of cursor for the prompt review of files, whatever their arguments, for:",
    );
    expect(cardText()).toContain("(if nothing is ticked, only this prompt)");
    expect(button("approve-10-calls").textContent).toContain("10 more requests");
    await user.click(button("approve-session"));
    expect(decisions(hub)[0]?.verdict).toEqual({ kind: "approve_session", conditions: [] });
    expect(hub.rules.map((rule) => rule.text)).toEqual([
      'allow prompts of files for cursor if /name is "review" in this session',
    ]);
  });

  it("covers only this resource, unless another condition is ticked", async () => {
    await openLonger((hub) =>
      addRead(hub, { arguments: JSON.stringify({ uri: URI, fresh: true }) }),
    );
    expect(cardText()).toContain(`later requests of cursor for the resource ${URI} of files,`);
    expect(cardText()).toContain("(if nothing is ticked, only this resource)");
    await user.click(screen.getAllByTestId("condition-argument")[1] as HTMLElement);
    expect(cardText()).toContain(
      "later requests of cursor for any resource of files, if their params are as ticked, for:",
    );
  });

  it.each<[GuardedMethod, string]>([
    ["sampling/createMessage", "later requests of files for messages from cursor's model,"],
    ["elicitation/create", "later requests of files for your input in cursor,"],
    ["roots/list", "later requests of files for the folders of cursor,"],
    ["completion/complete", "later requests of cursor for any resource of files,"],
  ])("of %s covers its kind for this server", async (method, expected) => {
    await openLonger((hub) => addRequest(hub, { method, tool: "", arguments: "{}" }));
    expect(cardText()).toContain(`Approve this request, and ${expected} whatever their params`);
  });

  it("says that you are asked again if the server changes, and names no tool", async () => {
    await openLonger(addSampling);
    await user.click(button("approve-always"));
    await advanceTime(1);
    expect(screen.getByTestId("dry-run-rule").textContent).toBe(
      "allow sampling of files for cursor",
    );
    expect(card().textContent).toContain(
      "You are asked again if the server's command or URL changes.",
    );
  });

  it("explains what a session is", async () => {
    await openLonger((hub) => hub.addApproval({ client: "cursor" }));
    const meaning = screen.getByTestId("session-meaning");
    expect(text(meaning)).toBe(
      "“This session” applies until cursor ends its session. For a client without sessions (MCP 2026-07-28), it applies until the client is idle for 30 minutes.",
    );
    expect(button("approve-session").getAttribute("aria-describedby")).toBe(meaning.id);
  });
});

describe("a missed request", () => {
  it("can be allowed if it comes again", async () => {
    await open("#/approvals/missed", (hub) => {
      addSampling(hub);
      hub.waiting.forEach((request) => (request.remaining_ms = 0));
    });
    await advanceTime(60_000);
    const row = screen.getByTestId("missed-row");
    expect(text(row)).toContain("files wanted a message from cursor's model");
    await user.click(
      within(row).getByRole("button", { name: "Allow retry of sampling/createMessage by files" }),
    );
    await advanceTime(1);
    expect(screen.getByTestId("missed").textContent).toContain(
      "If files sends the same request sampling/createMessage again within",
    );
  });
});

describe("a recorded request", () => {
  const call = (part: Partial<Call>): Call => ({
    ...(data.calls()[0] as Call),
    id: "one",
    at: Date.now(),
    client: "cursor",
    server: "files",
    ...part,
  });

  async function openCalls(part: Partial<Call>) {
    const hub = await open("#/calls", (fake) => (fake.calls = [call(part)]));
    return { hub, row: screen.getByTestId("call-row") };
  }

  async function openDetail(part: Partial<Call>) {
    const { hub, row } = await openCalls(part);
    await user.click(row);
    await advanceTime(1);
    return { hub, detail: screen.getByTestId("call-detail") };
  }

  const READ: Partial<Call> = { method: "resources/read", tool: URI, exposed_name: URI };
  const SAMPLING: Partial<Call> = {
    method: "sampling/createMessage",
    tool: "",
    exposed_name: "",
    outcome: "client_error",
  };

  it("shows its method before its name", async () => {
    const { row } = await openCalls(READ);
    expect(within(row).getByRole("button").textContent).toBe(`resources/read${URI}`);
    expect(row.querySelector(".method")?.textContent).toBe("resources/read");
  });

  it("of a call has no method in the list", async () => {
    const { row } = await openCalls({ tool: "write_file" });
    expect(within(row).getByRole("button").textContent).toBe("write_file");
  });

  it("is found by its method", async () => {
    await openCalls(READ);
    await follow("#/calls?text=resources%2F");
    expect(screen.getAllByTestId("call-row")).toHaveLength(1);
    await follow("#/calls?text=resources%2Flist");
    expect(screen.queryByTestId("call-row")).toBeNull();
  });

  it("of a server says that the server asked the client", async () => {
    const { row } = await openCalls(SAMPLING);
    expect(text(row)).toContain("sampling/createMessage");
    expect(text(row)).toContain("asked by the server");
    await user.click(row);
    await advanceTime(1);
    const detail = screen.getByTestId("call-detail");
    expect(text(within(detail).getByTestId("call-method"))).toBe(
      "sampling/createMessage The server sent this request to the client.",
    );
    expect(detail.textContent).toContain(
      "The client, or Drawbridge in its place, answered with an error or not at all.",
    );
  });

  it("shows its method and its params", async () => {
    const { hub, detail } = await openDetail({ ...READ, arguments: JSON.stringify({ uri: URI }) });
    expect(listParams(hub, "calls.show")).toEqual([{ id: "one" }]);
    expect(within(detail).getByRole("heading", { name: "Request resources/read" })).toBeTruthy();
    expect(text(within(detail).getByTestId("call-method"))).toBe("resources/read");
    expect(within(detail).getByRole("region", { name: "Params" }).textContent).toContain(URI);
    expect(within(detail).queryByTestId("call-extra")).toBeNull();
  });

  it("shows the params that were sent besides the arguments", async () => {
    const { detail } = await openDetail({
      tool: "write_file",
      arguments: '{"path":"/a"}',
      extra: '{"_meta":{"trace":"t-1"}}',
    });
    expect(within(detail).getByRole("region", { name: "Arguments" }).textContent).toContain("/a");
    expect(within(detail).getByRole("region", { name: "Also sent" }).textContent).toContain("t-1");
  });

  it("shows the client's arguments beside the arguments of the person", async () => {
    const { detail } = await openDetail({
      tool: "write_file",
      is_edited: true,
      arguments: '{"path":"/mine"}',
      original_arguments: '{"path":"/theirs"}',
    });
    const region = (name: string) => within(detail).getByRole("region", { name }).textContent;
    expect(region("Arguments of the client")).toContain("/theirs");
    expect(region("Arguments after your changes")).toContain("/mine");
  });

  it("says why its arguments were not recorded", async () => {
    const { detail } = await openDetail({ tool: "write_file" });
    expect(within(detail).getByTestId("call-arguments").textContent).toContain(
      "Not recorded, because",
    );
  });

  it("without a server says that no server has the tool", async () => {
    const { row } = await openCalls({
      server: "",
      tool: "no_such_tool",
      decision: "denied",
      decided_by: "hub",
      outcome: "not_sent",
    });
    expect(within(row).getByText("none").title).toBe("No server has this tool.");
    const filter = screen.getByTestId("call-filter-server");
    expect(within(filter).getAllByRole("option")[0]?.textContent).toBe("All servers");
    expect(
      within(filter)
        .getAllByRole("option")
        .some((option) => option.textContent === ""),
    ).toBe(false);
    await user.click(row);
    await advanceTime(1);
    const server = screen.getByTestId("call-server");
    expect(text(server)).toBe("No server has this tool.");
    expect(within(server).queryByRole("link")).toBeNull();
  });

  it("that Drawbridge answered itself links to no server", async () => {
    const { detail } = await openDetail({
      server: "drawbridge",
      tool: "tool_search",
      decided_by: "hub",
      outcome: "ok",
    });
    const server = within(detail).getByTestId("call-server");
    expect(text(server)).toBe("Drawbridge Drawbridge answered this call itself.");
    expect(within(server).queryByRole("link")).toBeNull();
    expect(detail.textContent).toContain("Drawbridge answered.");
  });
});

describe("the list of decided requests", () => {
  it("names each request with its method and its server", async () => {
    await open("#/approvals/decided", (hub) => {
      const [first] = data.calls();
      if (first)
        hub.calls = [
          { ...first, id: "a", server: "files", method: "resources/read", tool: URI },
          { ...first, id: "b", server: "", tool: "no_such_tool", decided_by: "person" },
        ];
    });
    const [, ...rows] = screen.getAllByRole("row");
    expect(text(rows[0])).toContain(`resources/read ${URI} of files`);
    expect(screen.getAllByTestId("decided-call")[0]?.getAttribute("href")).toBe("#/calls/a");
    expect(text(rows[1])).toContain("no_such_tool");
    expect(text(rows[1])).not.toContain("no_such_tool of");
  });
});
