export const settings = {
  title: "Settings",
  sectionsLabel: "Sections of the settings",
  /** In the order of the screen. */
  sections: {
    approvals: "Approvals",
    network: "Port and hosts",
    servers: "Servers",
    history: "History and traces",
    appearance: "Appearance",
    folders: "Shared folders",
    docling: "Documents",
    sampling: "Sampling",
    roots: "Roots",
    runtimes: "Runtimes",
    secrets: "Secrets",
    browsers: "Signed-in browsers",
    doctor: "Doctor",
    about: "About this Drawbridge",
  },
  saved: "Saved.",

  browsers: {
    lead: "These browsers have these screens open, or can open them. A browser signs in with a link or a code of “drawbridge open”, and is signed out after 12 hours without use, after a week, or when Drawbridge ends.",
    listLabel: "Signed-in browsers",
    unnamed: "An unnamed browser",
    current: "this browser",
    address: (address: string) => `At ${address}.`,
    signedIn: (ago: string) => `Signed in ${ago}.`,
    lastUsed: (ago: string) => `Last used ${ago}.`,
    expires: (moment: string) => `Signed out ${moment}.`,
    signOut: "Sign out",
    signOutOf: (browser: string) => `Sign out ${browser}`,
    signOutAll: "Sign out all browsers",
    empty: "No browser is signed in.",
  },

  enterWholeNumber: (min: number, max: number) =>
    `Enter a whole number from ${min.toLocaleString("en")} to ${max.toLocaleString("en")}.`,

  approvalTimeout: {
    label: "Approval timeout",
    hint: "A call that nobody decides in this time is denied. Many clients give up after 60 seconds.",
    unit: "seconds",
  },
  cacheTime: {
    label: "Cache time",
    hint: "How long a server's list of tools counts as fresh. Drawbridge still uses an older list while it refreshes it.",
    unit: "seconds",
  },
  port: {
    label: "Port",
    hint: "The port that clients connect to. After a change, clients that are connected over HTTP need the new address; clients that start “drawbridge stdio” do not.",
    unit: "1 to 65535",
  },
  allowedHosts: {
    label: "Allowed hosts",
    hint: "Names under which clients and browsers elsewhere reach this Drawbridge, such as hub.example:443. Without a port, the port of Drawbridge counts. Requests under other names are refused.",
    placeholder: "hub.example, 192.168.1.7",
    startedWith: (hosts: string[]) =>
      `Also allowed until Drawbridge ends, because it was started with them: ${hosts.join(", ")}.`,
  },
  notListening: {
    title: "No client can connect over HTTP.",
    reason: (error: string) =>
      `Drawbridge does not listen: ${error}. It tries again every few seconds.`,
  },
  retention: {
    label: "Call history",
    hint: "How long Drawbridge keeps calls and their decisions. It deletes older calls once a day; the rest can still be verified.",
    unit: "days (0: forever)",
  },
  recordsLimit: {
    label: "Size of the history",
    hint: "How much of the disk calls and their decisions may take. Drawbridge deletes the oldest ones beyond that, whatever their age.",
    unit: "MiB (0: no limit)",
  },
  lowSpace: "The disk is almost full:",
  clientMetadata: {
    label: "OAuth client metadata document",
    hint: "Optional: the HTTPS URL of the document that describes Drawbridge to authorization servers. If empty, Drawbridge registers automatically.",
    placeholder: "https://example.com/drawbridge.json",
  },
  officialRegistry: {
    label: "Official registry",
    hint: "The address of the registry in which you can search for servers to add. Drawbridge asks it for its list only after you do. If empty, it is turned off.",
    placeholder: "https://registry.modelcontextprotocol.io",
  },
  traces: {
    label: "OpenTelemetry traces",
    hint: "Optional: the URL of a collector that takes OTLP over HTTP. Drawbridge then sends it a trace of each request, with the time that you took to decide. If empty, nothing is sent.",
    placeholder: "http://127.0.0.1:4318",
    content: "Include arguments and results",
    headers: "Headers for the collector",
    headerName: "Name",
    headerValue: "Value",
    enterHeader: "Enter a name and a value first.",
    add: "Add header",
    remove: "Remove",
    removeHeader: (name: string) => `Remove header ${name}`,
    storedSecret: "Values of headers are stored as secrets.",
  },
  guide: {
    label: "Guide",
    hint: "The steps from the first server to the first approved call, on the Approvals screen.",
  },
  theme: {
    label: "Theme",
    hint: "Stored on this device only.",
    system: "System",
    light: "Light",
    dark: "Dark",
  },
  textSize: {
    label: "Text size",
    hint: "Stored on this device only.",
    sizes: { small: "Small", normal: "Normal", large: "Large", very_large: "Very large" },
  },

  runtimes: {
    title: "Runtimes",
    hint: "Most servers are packages that need one of these programs. You need only those that your servers use.",
    check: "Check runtimes",
    checking: "Checking the version of each runtime…",
    columns: { runtime: "Runtime", starts: "Starts", status: "Status", details: "Path or problem" },
    starts: {
      npx: "npm packages",
      uvx: "PyPI packages",
      docker: "container images",
      node: "JavaScript programs",
      python: "Python programs",
      dnx: "NuGet packages",
    },
    found: "Found",
    notFound: "Not found",
    notWorking: "Not working",
  },

  about: {
    endpoint: "Endpoint",
    copyEndpoint: "Copy the endpoint",
    notListening: "Not listening: clients cannot connect",
    listeners: "Listeners",
    secretStore: { keyring: "Keyring", file: "Secrets file" },
    keyringStatus: { ready: "Ready", locked: "Locked", absent: "Absent", unusable: "Unusable" },
    dataFolder: "Data folder",
    version: "Version",
  },
};
