// Attacks on the files of the sidecar: the token file and the journal in --state-dir.
import { writeFile } from "node:fs/promises";
import { test } from "tap";
import { IssuedCredentials } from "../../sidecar/credentials/issued.ts";
import { FakeClock } from "../sidecar/fake-clock.ts";

test("starts although the journal contains 150,000 keys, and restores the base keys", async (t) => {
  const clock = new FakeClock();
  const folder = t.testdir({});
  const identity = { secretAccessKey: "s", accountID: "1", arn: "a", userID: "u", tokenDigest: null };
  const expirationMs = clock.now() + 3_600_000;
  const lines = Array.from({ length: 150_000 }, (_, i) => JSON.stringify({
    ...identity, accessKeyID: `ASIA${i}`, kind: i % 1_000 === 0 ? "base" : "role", expirationMs,
  }));
  await writeFile(`${folder}/issued.jsonl`, `${lines.join("\n")}\n`, { mode: 0o600 });
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  // If the work were quadratic in the number of keys, this call would take minutes, and the test would time out.
  const issued = await IssuedCredentials.open(folder, { log, clock });
  t.teardown(() => issued.close());
  t.ok(issued.find("ASIA0") !== undefined, "the oldest base key is restored");
  t.ok(issued.find("ASIA149999") !== undefined, "the newest role key is restored");
  t.equal(issued.find("ASIA1"), undefined, "the oldest role keys are evicted");
});
