/** Presets and manifests of the fake hub. */

import { IpcError, type Verbs } from "..";
import type {
  FillManifest,
  ManifestChoice,
  ManifestInput,
  ManifestSource,
  ManifestView,
  PresetView,
  RuntimeFound,
} from "../bindings";

export const RUNTIMES: RuntimeFound[] = [
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
    remedy: "Start Docker, then look again.",
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

function input(name: string, part: Partial<ManifestInput> = {}): ManifestInput {
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
    ...part,
  };
}

function choice(label: string, part: Partial<ManifestChoice> = {}): ManifestChoice {
  return { label, preview: label, runtime: "npx", inputs: [], problem: "", ...part };
}

const findRuntime = (name: string) => RUNTIMES.find((one) => one.runtime === name) ?? null;

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
          description: "The folder that it may read and write",
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
            "A personal access token for GitHub. If it is empty, you sign in with your browser.",
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
      problem: "it is a bundle (MCPB), which Drawbridge does not start yet.",
    }),
  ],
};

export function readManifest(source: ManifestSource): ManifestView {
  if ("preset" in source) {
    const preset = PRESETS.find((one) => one.id === source.preset);
    if (!preset) throw new IpcError("not_found", `There is no well-known server ${source.preset}.`);
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

export function fillManifest({
  source,
  choice: at,
  name,
  values,
  secrets,
}: FillManifest): Verbs["servers.fill_manifest"]["answer"] {
  const view = readManifest(source);
  const picked = view.choices[at];
  if (!picked) throw new IpcError("invalid", "There is no such choice.");
  if (picked.problem)
    throw new IpcError("invalid", `this choice cannot be used: ${picked.problem}`);
  const given = (one: ManifestInput) => secrets[one.name] ?? values[one.name] ?? one.default ?? "";
  const missing = picked.inputs.filter((one) => one.required && !given(one).trim());
  if (missing.length)
    throw new IpcError("invalid", `still missing: ${missing.map((one) => one.name).join("; ")}`);
  const kept = (one: ManifestInput) => one.secret || one.name in secrets;
  const of = (kind: ManifestInput["kind"], secret: boolean) =>
    Object.fromEntries(
      picked.inputs
        .filter((one) => one.kind === kind && kept(one) === secret && given(one))
        .map((one) => [one.name, given(one)]),
    );
  const args = picked.inputs
    .filter((one) => one.kind === "argument")
    .flatMap((one) => given(one).split("\n").filter(Boolean));
  const remote = picked.label.startsWith("http");
  return {
    spec: {
      name: name ?? view.title,
      enabled: true,
      command: remote ? null : (picked.runtime ?? "run"),
      args: remote ? [] : ["-y", picked.label.split(" ").at(-1) ?? "", ...args],
      env: of("env", false),
      headers: of("header", false),
      url: remote ? picked.label : null,
    },
    secrets: { env: of("env", true), headers: of("header", true) },
  };
}
