import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Test } from "tap";
import { field, stringAt } from "../../../../shared/formats/json.ts";
import { sleep, systemClock } from "../../../../shared/core/clock.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { mountSecret } from "../../cert-manager/mounted-secret.ts";
import { read } from "./objects.ts";

/** How often the files are updated, in ms. A kubelet needs up to 90 s. */
const SYNC_MS = 500;
const FILES = ["tls.crt", "tls.key"];

/**
 * Updates the files of a mounted Secret as a kubelet does, and keeps them while an entry is missing. Resolves to the
 * folder when it contains the files.
 */
export async function keepMounted(t: Test, cluster: Cluster, secret: string): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-mount-"));
  const stopping = new AbortController();
  const { promise: mounted, resolve } = Promise.withResolvers<void>();
  let version = "";
  const sync = async (): Promise<void> => {
    const object = await read(cluster, secret);
    const current = stringAt(object, "metadata", "resourceVersion") ?? "";
    if (current === version || FILES.some((name) => stringAt(field(object, "data"), name) === null)) return;
    await mountSecret(dir, object);
    version = current;
    resolve();
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sync();
      await sleep(systemClock, SYNC_MS, stopping.signal);
    }
  };
  const running = run();
  t.teardown(async () => {
    stopping.abort();
    await running;
    await rm(dir, { recursive: true });
  });
  await Promise.race([mounted, running]);
  return dir;
}
