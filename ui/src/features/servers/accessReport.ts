/** The uses of an access report, sorted into the sections of the screen. */

import type { AccessSummary, AddressUse, FileUse } from "../../ipc";
import { texts } from "../../texts";

export type UseKind = "refused" | "read" | "written" | "connected" | "started";

export interface UseSection {
  kind: UseKind;
  /** One line for each use. */
  uses: string[];
}

/** Returns the sections that are not empty; refusals come first. */
export function listUses(summary: AccessSummary): UseSection[] {
  const t = texts.servers.accessReport;
  const files = (access: FileUse["access"]) =>
    summary.files.filter((file) => file.access === access && !file.refused).map(describeFile);
  const refused = [
    ...summary.files
      .filter((file) => file.refused)
      .map((file) => t.files[file.access](describeFile(file))),
    ...summary.addresses.filter((address) => address.refused).map(describeAddress),
    ...summary.programs.filter((program) => program.refused).map(({ path }) => t.start(path)),
    ...summary.refused_calls.map((call) => t.refusedCalls[call]),
  ];
  const sections: UseSection[] = [
    { kind: "refused", uses: refused },
    { kind: "read", uses: files("read") },
    { kind: "written", uses: files("write") },
    {
      kind: "connected",
      uses: summary.addresses.filter((address) => !address.refused).map(describeAddress),
    },
    {
      kind: "started",
      uses: summary.programs.filter((program) => !program.refused).map(({ path }) => path),
    },
  ];
  return sections.filter((section) => section.uses.length > 0);
}

function describeFile({ path, is_folder, files }: FileUse): string {
  const name = is_folder && !path.endsWith("/") ? `${path}/` : path;
  return files > 1 ? texts.servers.accessReport.severalFiles(name, files) : name;
}

function describeAddress({ kind, address, port }: AddressUse): string {
  return texts.servers.accessReport.addresses[kind](address, port);
}
