import { SELECTORS } from "../../shared/ack/selectors.ts";

// Attacks on a sidecar that reads manifests from a folder (--from). The attacker can break or copy a manifest file. The
// attacker tries to continue to use a role after the owner of the role revokes the grant.
import { rm, writeFile } from "node:fs/promises";
import { type Test, test } from "tap";
import type { JsonObject } from "../../shared/formats/json.ts";
import { ManifestSource } from "../../shared/sources/file-source.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import { eventually } from "../shared/sources/eventually.ts";
import { get, start } from "../sidecar/running-sidecar.ts";
import { ROLE_A, TEAM_A } from "../sidecar/sidecar-under-test.ts";

const OTHER = selectorObject("other", { arn: `${ROLE_A}-other`, namespaceSelector: { names: ["other"] } });
const text = (...objects: readonly JsonObject[]): string => objects.map((one) => JSON.stringify(one)).join("\n---\n");

interface Watching {
  readonly folder: string;
  /** Returns the status of a request for the credentials of a selector. */
  readonly statusOf: (selector: string) => Promise<number>;
  readonly source: ManifestSource;
}

async function watching(t: Test): Promise<Watching> {
  const folder = t.testdir({
    "namespaces.yaml": text(namespaceObject("team-a"), namespaceObject("other")),
    "team-a.yaml": text(TEAM_A), "other.yaml": text(OTHER),
  });
  const source = new ManifestSource([folder], { runtime: "ack" });
  await source.start();
  t.teardown(() => source.stop());
  const { sidecar } = await start(t, {}, { source });
  const statusOf = async (name: string): Promise<number> =>
    (await get(sidecar.address, `/v1/credentials/selectors/${name}`)).status;
  return { folder, source, statusOf };
}

test("does not grant the role of a deleted selector while an unrelated file is invalid", async (t) => {
  const { folder, source, statusOf } = await watching(t);
  t.same([await statusOf("team-a"), await statusOf("other")], [200, 200]);
  for (const [file, broken] of [["other.yaml", "{"], ["attack.yaml", "[".repeat(100_000)]] as const) {
    await writeFile(`${folder}/${file}`, broken);
    await eventually(source, () => source.status.fault?.includes(file) === true);
  }
  t.same([await statusOf("team-a"), await statusOf("other")], [200, 200]);
  await rm(`${folder}/team-a.yaml`);
  await eventually(source, () => !source.inventory.of(SELECTORS).has("team-a"));
  t.same([await statusOf("team-a"), await statusOf("other")], [404, 200]);
});

test("does not grant the role of a selector that two files define differently", async (t) => {
  const { folder, source, statusOf } = await watching(t);
  await writeFile(`${folder}/attack.yaml`, text(selectorObject("team-a", { arn: `${ROLE_A}-admin` })));
  await eventually(source, () => source.status.fault !== null);
  t.same([await statusOf("team-a"), await statusOf("other")], [404, 200]);
  await writeFile(`${folder}/attack.yaml`, text(TEAM_A));
  await eventually(source, () => source.inventory.of(SELECTORS).has("team-a"));
  t.same([await statusOf("team-a"), await statusOf("other")], [200, 200], "equal definitions are not ambiguous");
});
