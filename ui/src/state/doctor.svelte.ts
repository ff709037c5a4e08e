/** The checks of the doctor, and the diagnostics bundle. Both run only on request. */

import type { DiagnosticsBundle, DoctorReport, Ipc } from "../ipc";

export class Doctor {
  report = $state.raw<DoctorReport | null>(null);

  constructor(private readonly ipc: Ipc) {}

  /** Runs all checks. Takes a few seconds. */
  async run(): Promise<void> {
    this.report = await this.ipc.call("doctor.run", {});
  }

  /** Collects a bundle, together with a new report. Takes a few seconds. */
  async bundle(): Promise<DiagnosticsBundle> {
    const bundle = await this.ipc.call("doctor.bundle", {});
    this.report = bundle.report;
    return bundle;
  }
}
