/**
 * Collects the texts for people. Texts of the hub (errors, reasons) aren't here, because the hub
 * writes them.
 */
import { approvals } from "./en/approvals";
import { audit } from "./en/audit";
import { backups } from "./en/backups";
import { calls } from "./en/calls";
import { clientFiles } from "./en/clientFiles";
import { clientImport } from "./en/import";
import { clients } from "./en/clients";
import { docling } from "./en/docling";
import { doctor } from "./en/doctor";
import { folders } from "./en/folders";
import { guide } from "./en/guide";
import { hooks } from "./en/hooks";
import { kit } from "./en/kit";
import { logs } from "./en/logs";
import { memory } from "./en/memory";
import { overview } from "./en/overview";
import { pairing } from "./en/pairing";
import { palette } from "./en/palette";
import { policy } from "./en/policy";
import { profiles } from "./en/profiles";
import { removals } from "./en/removals";
import { sampling } from "./en/sampling";
import { secrets } from "./en/secrets";
import { servers } from "./en/servers";
import { settings } from "./en/settings";
import { shell } from "./en/shell";
import { shortcuts } from "./en/shortcuts";
import { state } from "./en/state";
import { updates } from "./en/updates";

export const en = {
  approvals,
  audit,
  backups,
  calls,
  clientFiles,
  clientImport,
  clients,
  docling,
  doctor,
  folders,
  guide,
  hooks,
  kit,
  logs,
  memory,
  overview,
  pairing,
  palette,
  policy,
  profiles,
  removals,
  sampling,
  secrets,
  servers,
  settings,
  shell,
  shortcuts,
  state,
  updates,
};

export type Texts = typeof en;

export const texts: Texts = en;
