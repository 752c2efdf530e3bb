import { join } from "node:path";
import type { Test } from "tap";
import { startSTSEmulator, type STSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import { ManifestSource } from "../../../shared/inventory/manifest-source.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { readSettings } from "../../../shared/server/settings.ts";
import { type RunningSidecar, runSidecar, type SidecarSettings } from "../../../sidecar/main.ts";

const NAMESPACES = ["team-a", "team-b"].map((name) => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`);
const SELECTORS = [
  ["team-a", "arn:aws:iam::111111111111:role/team-a", "namespaceSelector: {names: [team-a]}"],
  ["gold", "arn:aws:iam::222222222222:role/gold", "namespaceSelector: {names: [team-b]}\n  resourceLabelSelector: {matchLabels: {tier: gold}}"],
].map(([name, arn, rest]) => `apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: ${name}}\nspec:\n  arn: ${arn}\n  ${rest}\n`);

const BASE = {
  accessKeyID: "ASIASIDECARBASE", secretAccessKey: "planted-base-secret", sessionToken: "planted/base+token==",
  arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};

/** A running sidecar on manifests of two teams in two accounts, with the STS that it asks. */
export interface Company {
  readonly sts: STSEmulator;
  readonly sidecar: RunningSidecar;
  readonly tokenFile: string;
  /** An empty folder for clients. */
  readonly home: string;
  /** Every line that the sidecar has logged. */
  readonly logLines: readonly string[];
}

/** Starts them on loopback, and stops them with the test. */
export async function startCompany(t: Test, overrides: Partial<SidecarSettings> = {}): Promise<Company> {
  const folder = t.testdir({ home: {}, manifests: { "company.yaml": [...NAMESPACES, ...SELECTORS].join("---\n") } });
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const source = new ManifestSource([join(folder, "manifests")], { runtime: "ack" });
  await source.start();
  t.teardown(() => source.stop());
  const logLines: string[] = [];
  const log = createLogger({ name: "sidecar", level: "trace", destination: { write: (line) => void logLines.push(line) } });
  const tokenFile = join(folder, "token");
  const settings = { ...SETTINGS, stsEndpoint: sts.url, tokenFile, ...overrides };
  const sidecar = await runSidecar(settings, { source, log, environment: {}, baseProvider: async () => ({ ...BASE, expirationMs: null }) });
  t.teardown(() => sidecar.close());
  return { sts, sidecar, tokenFile, logLines, home: join(folder, "home") };
}

const SETTINGS: SidecarSettings = {
  ...readSettings("sidecar", { from: ["unused"], group: ["s3.services.k8s.aws"], tokenFile: "unused" }, {}), listen: "127.0.0.1:0", healthListen: "127.0.0.1:0",
};
