/**
 * Collects the texts for people. Texts of the hub (errors, reasons) aren't here, because the hub
 * writes them.
 */
import { approvals } from "./en/approvals";
import { audit } from "./en/audit";
import { calls } from "./en/calls";
import { clients } from "./en/clients";
import { kit } from "./en/kit";
import { logs } from "./en/logs";
import { policy } from "./en/policy";
import { profiles } from "./en/profiles";
import { servers } from "./en/servers";
import { settings } from "./en/settings";
import { shell } from "./en/shell";
import { state } from "./en/state";

export const en = {
  approvals,
  audit,
  calls,
  clients,
  kit,
  logs,
  policy,
  profiles,
  servers,
  settings,
  shell,
  state,
};

export type Texts = typeof en;

export const texts: Texts = en;
