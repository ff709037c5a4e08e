/** Texts about updates of the app. */

const disabled = {
  package_manager: "A package manager installed and updates this copy of Drawbridge.",
  not_configured:
    "This build does not say where its updates come from. Get a newer version where you got this one.",
  not_app_image: "Only the AppImage updates itself. Get a newer version where you got this one.",
};

export const updates = {
  version: (version: string) => `This is version ${version}.`,
  disabled,
  automatic: "Check for updates when Drawbridge starts, and once a day",
  automaticHint:
    "Nothing is downloaded or installed before you say so. A check sends nothing about you.",
  check: "Check for updates",
  checking: "Checking for updates…",
  upToDate: "No newer version was found.",
  available: (version: string) => `Version ${version} is available.`,
  whatIsNew: "What is new",
  install: "Download and install",
  installing: "Downloading and installing…",
  installHint:
    "The download is installed only if its publisher signed it. Your servers keep running until you restart.",
  installed: (version: string) =>
    `Version ${version} is installed. It runs when Drawbridge starts again.`,
  restart: "Restart Drawbridge",
  restartHint: "A restart stops your servers, and denies the calls that wait.",
};
