import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import type { Test } from "tap";
import type { STSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { type Faults, startSTSEmulator } from "../cli/local/sts-emulator/faults.ts";
import type { BaseCredentials } from "../../cli/local/sts-emulator/principals.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import { ALWAYS_CURRENT, type InventorySource, type SourceStatus } from "../../shared/sources/source.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { type RunningSidecar, runSidecar, type SidecarRuntime } from "../../sidecar/main.ts";
import type { SidecarSettings } from "../../sidecar/options.ts";
import { get as getURL, type LoopbackAnswer } from "../loopback-request.ts";
import { namespaceObject, put } from "../shared/objects.ts";
import { fileWith } from "../token-file.ts";
import { RecordedLog } from "./recorded-log.ts";
import { TEAM_A } from "./sidecar-under-test.ts";

export const BASE = {
  accessKeyID: "ASIABASE",
  secretAccessKey: "planted-base-secret",
  sessionToken: "planted-base-token",
};
export const TOKEN = "planted-client-token";

export interface Running {
  readonly sts: STSEmulator;
  readonly sidecar: RunningSidecar;
  readonly source: InventorySource & { status: SourceStatus };
  readonly logLines: readonly string[];
}

export function loadedSource(): InventorySource & { status: SourceStatus } {
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  inventory.apply([namespaceObject("team-a"), TEAM_A].map(put));
  const status: SourceStatus = { loaded: true, lastSyncMs: performance.now(), fault: null };
  const resolved = (): Promise<void> => Promise.resolve();
  const known = { positionOf: () => null, prove: async () => ALWAYS_CURRENT, accept: () => false };
  return { inventory, status, ...known, start: resolved, stop: resolved, onChange: () => () => {} };
}

export const SETTINGS: SidecarSettings = {
  ...readSettings("sidecar", { from: ["unused"], group: ["s3.services.k8s.aws"], tokenFile: fileWith(TOKEN) }, {}),
  listen: "127.0.0.1:0",
  healthListen: "127.0.0.1:0",
};

export type { Faults };

/**
 * Starts a sidecar with an STS emulator that accepts its base identity and the access keys `keys`. The sidecar and the
 * emulator stop when the test ends.
 */
export async function start(
  t: Test,
  settings: Partial<SidecarSettings> = {},
  runtime: Partial<SidecarRuntime> = {},
  faults: Faults | { readonly faults: Faults; readonly keys: readonly BaseCredentials[] } = () => null,
): Promise<Running> {
  const { keys, ...ports } = "keys" in faults ? faults : { faults, keys: [] };
  const sts = await startSTSEmulator({
    ...ports,
    baseCredentials: [{ ...BASE, arn: "arn:aws:sts::999999999999:assumed-role/ack/pod" }, ...keys],
  });
  t.teardown(() => sts.close());
  const source = loadedSource();
  const { log, texts: logLines } = new RecordedLog();
  const baseProvider = async (): Promise<typeof BASE & { expirationMs: null }> => ({ ...BASE, expirationMs: null });
  const sidecar = await runSidecar(
    { ...SETTINGS, stsEndpoint: sts.url, ...settings },
    { source, log, environment: {}, baseProvider, ...runtime },
  );
  t.teardown(() => sidecar.close());
  return { sts, sidecar, source, logLines };
}

export function get(
  address: string,
  path: string,
  headers: Readonly<Record<string, string>> = { authorization: TOKEN },
): Promise<LoopbackAnswer> {
  return getURL(`http://${address}${path}`, headers);
}
