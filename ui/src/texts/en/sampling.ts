/** Texts about the sampling provider and the roots, in the settings. */

export const sampling = {
  lead: "A server may ask for a message from a language model. The client answers if it can. Otherwise this OpenAI-compatible provider answers, if the policy allows the request or you approve it.",
  on: "On: the provider answers if a client cannot.",
  notSetUp: "Not set up: enter a URL and a model.",
  off: "Off: servers get an error if the client cannot sample.",
  enabled: "Let the provider answer",
  url: {
    label: "Base URL",
    hint: "HTTPS, or HTTP on this computer. Changing to another host removes the key.",
    placeholder: "https://api.openai.com/v1",
  },
  models: {
    label: "Models",
    hint: "Separated by commas, the default first. A server may suggest one of them.",
    placeholder: "gpt-5-mini",
  },
  key: {
    label: "API key",
    stored: "A key is stored. Enter another one to replace it.",
    missing: "The key is stored as a secret, and never shown again.",
    unknown: "The secret store cannot be used.",
    remove: "Remove key",
  },
  images: "The models see images",
  tools: "The models get the tools of requests",
  timeout: { label: "Idle timeout", unit: "seconds" },
  requests: { label: "Requests per day", unit: "(0: no limit)" },
  tokens: { label: "Tokens per day", unit: "(0: no limit)" },
  today: "Today",
  requestsToday: (used: number, limit: number) => `${ofLimit(used, limit)} requests`,
  tokensToday: (used: number, limit: number) => `${ofLimit(used, limit)} tokens`,
  spent: "The budget is spent. Servers get an error until it is reset.",
  resets: "The budget is reset at midnight UTC.",
  save: "Save provider",
  check: "Test provider",
  checking: "Waiting for the provider…",
  checkHint: "Sends a tiny request, which counts towards the budget.",
  answered: (model: string, text: string, tokens: number) =>
    `${model} answered “${text}” (${tokens.toLocaleString("en")} tokens).`,
  setUpFirst: "Save a URL and a model first.",

  roots: {
    lead: "The folders that servers get if they ask for roots and the client has none. If the client works in the project folder of a profile, servers get that folder instead.",
    empty:
      "No folders yet. If a client has no roots, servers get only its project folder, if it has one.",
    add: "Add folder",
    label: "Folder for servers",
    placeholder: "/home/ada/work",
    remove: "Remove",
    removeFolder: (folder: string) => `Remove ${folder}`,
    listLabel: "Folders",
  },

  forms: {
    label: "Requests for input",
    hint: "If a client cannot ask you for the input that a server needs, Drawbridge asks you here.",
    on: "Ask on screen",
  },
};

function ofLimit(used: number, limit: number): string {
  const shown = used.toLocaleString("en");
  return limit === 0 ? shown : `${shown} of ${limit.toLocaleString("en")}`;
}
