/** Presets and manifests of the fake hub. */

import { IpcError, type Verbs } from "..";
import type {
  FillManifest,
  ManifestChoice,
  ManifestInput,
  ManifestSource,
  ManifestView,
  PresetView,
  RuntimeStatus,
} from "../bindings";

export const RUNTIMES: RuntimeStatus[] = [
  { runtime: "npx", path: "/usr/bin/npx", version: "10.8.2", problem: "", remedy: "" },
  {
    runtime: "uvx",
    path: null,
    version: null,
    problem: "uvx is not in the PATH of your login shell.",
    remedy: "Install uv: https://docs.astral.sh/uv/getting-started/installation/",
  },
  {
    runtime: "docker",
    path: "/usr/bin/docker",
    version: "27.3.1",
    problem: "Its daemon does not answer.",
    remedy: "Start Docker, then check again.",
  },
  { runtime: "node", path: "/usr/bin/node", version: "22.11.0", problem: "", remedy: "" },
  { runtime: "python", path: "/usr/bin/python3", version: "3.11.2", problem: "", remedy: "" },
  {
    runtime: "dnx",
    path: null,
    version: null,
    problem: "dnx is not installed.",
    remedy: "It comes with the .NET SDK 10. Without it, servers from NuGet cannot be started.",
  },
];

export function input(name: string, part: Partial<ManifestInput> = {}): ManifestInput {
  return {
    name,
    kind: "argument",
    description: "",
    required: false,
    secret: false,
    repeated: false,
    default: null,
    choices: [],
    placeholder: "",
    format: "text",
    min: null,
    max: null,
    ...part,
  };
}

export function choice(label: string, part: Partial<ManifestChoice> = {}): ManifestChoice {
  return { label, preview: label, runtime: "npx", inputs: [], problem: "", ...part };
}

const findRuntime = (name: string) => RUNTIMES.find((runtime) => runtime.runtime === name) ?? null;

export const PRESETS: PresetView[] = [
  {
    id: "filesystem",
    title: "Filesystem",
    description: "Reads and writes the files of the folders that you choose.",
    runtime: findRuntime("npx"),
    choice: choice("npx @modelcontextprotocol/server-filesystem", {
      preview: "npx -y @modelcontextprotocol/server-filesystem <folder>",
      inputs: [
        input("folder", {
          description: "A folder that the server may read and write",
          required: true,
          repeated: true,
          format: "path",
        }),
      ],
    }),
  },
  {
    id: "github",
    title: "GitHub",
    description: "Repositories, issues, pull requests and workflows of your GitHub account.",
    runtime: null,
    choice: choice("https://api.githubcopilot.com/mcp/", {
      runtime: null,
      inputs: [
        input("token", {
          kind: "header",
          secret: true,
          description:
            "A personal access token for GitHub. Leave empty to sign in with your browser.",
        }),
      ],
    }),
  },
  {
    id: "playwright",
    title: "Playwright",
    description: "Opens web pages in a browser, reads them, clicks and types.",
    runtime: findRuntime("npx"),
    choice: choice("npx @playwright/mcp", {
      preview: "npx -y @playwright/mcp --browser <browser> --headless",
      inputs: [
        input("browser", {
          description: "The browser (default: Chrome)",
          choices: ["chrome", "firefox", "webkit", "msedge"],
        }),
        input("headless", { description: "Without a window", format: "boolean" }),
      ],
    }),
  },
  {
    id: "fetch",
    title: "Fetch",
    description: "Fetches web pages and turns them into text.",
    runtime: findRuntime("uvx"),
    choice: choice("uvx mcp-server-fetch", { runtime: "uvx" }),
  },
];

const SHOP: ManifestView = {
  name: "io.github.ada/shop",
  title: "Shop",
  description: "Looks up orders of the shop.\u200b",
  version: "1.4.0",
  choices: [
    choice("npx @ada/shop@1.4.0", {
      preview: "npx -y @ada/shop@1.4.0 --region <region>",
      inputs: [
        input("SHOP_KEY", {
          kind: "env",
          required: true,
          secret: true,
          description: "The key of your account",
        }),
        input("region", {
          choices: ["eu", "us"],
          default: "eu",
          description: "Where your shop is",
        }),
        input("LIMIT", {
          kind: "env",
          format: "number",
          placeholder: "50",
          description: "Orders a page",
        }),
        input("verbose", { format: "boolean", description: "Says more in its log" }),
      ],
    }),
    choice("mcpb shop.mcpb", {
      runtime: null,
      problem:
        "it is an MCP bundle (.mcpb), which Drawbridge does not download; download it, then run `drawbridge servers add --bundle FILE`",
    }),
  ],
};

export function readManifest(source: Exclude<ManifestSource, { published: string }>): ManifestView {
  if ("preset" in source) {
    const preset = PRESETS.find((preset) => preset.id === source.preset);
    if (!preset) throw new IpcError("not_found", `There is no preset ${source.preset}.`);
    return {
      name: preset.id,
      title: preset.title,
      description: preset.description,
      version: "",
      choices: [preset.choice],
    };
  }
  if ("path" in source) {
    if (source.path.includes("nowhere"))
      throw new IpcError("invalid", `${source.path} cannot be read: no such file.`);
    return SHOP;
  }
  try {
    JSON.parse(source.text);
  } catch (thrown) {
    throw new IpcError("invalid", `This is not JSON: ${String(thrown)}`);
  }
  return SHOP;
}

export function fillManifest(
  { choice: index, name, values, secrets }: FillManifest,
  view: ManifestView,
): Verbs["servers.fill_manifest"]["answer"] {
  const chosen = view.choices[index];
  if (!chosen) throw new IpcError("invalid", "There is no such choice.");
  if (chosen.problem)
    throw new IpcError("invalid", `this choice cannot be used: ${chosen.problem}`);
  const valueOf = (input: ManifestInput) =>
    secrets[input.name] ?? values[input.name] ?? input.default ?? "";
  const missing = chosen.inputs.filter((input) => input.required && !valueOf(input).trim());
  if (missing.length)
    throw new IpcError(
      "invalid",
      `these inputs have no value: ${missing.map((input) => input.name).join("; ")}`,
    );
  const isSecret = (input: ManifestInput) => input.secret || input.name in secrets;
  const valuesOfKind = (kind: ManifestInput["kind"], secret: boolean) =>
    Object.fromEntries(
      chosen.inputs
        .filter((input) => input.kind === kind && isSecret(input) === secret && valueOf(input))
        .map((input) => [input.name, valueOf(input)]),
    );
  const args = chosen.inputs
    .filter((input) => input.kind === "argument")
    .flatMap((input) => valueOf(input).split("\n").filter(Boolean));
  const remote = chosen.label.startsWith("http");
  return {
    spec: {
      name: name ?? view.title,
      enabled: true,
      command: remote ? null : (chosen.runtime ?? "run"),
      args: remote ? [] : ["-y", chosen.label.split(" ").at(-1) ?? "", ...args],
      env: valuesOfKind("env", false),
      headers: valuesOfKind("header", false),
      url: remote ? chosen.label : null,
    },
    secrets: { env: valuesOfKind("env", true), headers: valuesOfKind("header", true) },
  };
}
