import { EventEmitter, once } from "node:events";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "tap";
import {
  CertificateWatch, readServingPair, type ServingPair, storeCertificates,
} from "../../certs/certificate-files.ts";
import { makePairs } from "./pairs.ts";
import { replaceCertificates } from "./replace-certificates.ts";

const [first, second] = await makePairs();

interface Watched {
  readonly watch: CertificateWatch<ServingPair>;
  readonly pairs: ServingPair[];
  readonly faults: Error[];
  readonly seen: EventEmitter;
}

async function watched(dir: string, onPair?: (pair: ServingPair) => void): Promise<Watched> {
  const pairs: ServingPair[] = [];
  const faults: Error[] = [];
  const seen = new EventEmitter();
  const watch = new CertificateWatch({
    dir,
    current: await readServingPair(dir, new Date()),
    read: () => readServingPair(dir, new Date()),
    onChange: (pair) => {
      onPair?.(pair);
      pairs.push(pair);
      seen.emit("pair");
    },
    onFault: (fault) => void faults.push(fault),
  });
  return { watch, pairs, faults, seen };
}

/** Keeps the test process alive, because a CertificateWatch does not. */
function keepAlive(): () => void {
  const timer = setInterval(() => {}, 60_000);
  return () => clearInterval(timer);
}

test("reports a new certificate and key once after a file event", async (t) => {
  const dir = t.testdir({});
  await storeCertificates(dir, first);
  const { watch, pairs, faults, seen } = await watched(dir);
  watch.start();
  t.teardown(() => watch.close());
  t.teardown(keepAlive());
  const passed = once(seen, "pair");
  await replaceCertificates(dir, second);
  await passed;
  await watch.check();
  t.same(pairs.map(({ cert }) => cert), [second.cert]);
  t.same(faults, []);
});

test("reports a new certificate when a projected Secret swaps its ..data link", async (t) => {
  const dir = t.testdir({});
  const generation = async (name: string, pair: typeof first): Promise<void> => {
    await mkdir(join(dir, name));
    await writeFile(join(dir, name, "tls.crt"), pair.cert);
    await writeFile(join(dir, name, "tls.key"), pair.key);
    await symlink(name, join(dir, "..data_tmp"));
    await rename(join(dir, "..data_tmp"), join(dir, "..data"));
  };
  await generation("..1", first);
  await Promise.all(["tls.crt", "tls.key"].map((name) => symlink(`..data/${name}`, join(dir, name))));
  const { watch, pairs, seen } = await watched(dir);
  watch.start();
  t.teardown(() => watch.close());
  t.teardown(keepAlive());
  const passed = once(seen, "pair");
  await generation("..2", second);
  await passed;
  t.same(pairs.map(({ key }) => key), [second.key]);
});

test("reports an invalid certificate and key once, and reports the next valid certificate and key", async (t) => {
  const dir = t.testdir({});
  await storeCertificates(dir, first);
  const { watch, pairs, faults } = await watched(dir);
  await writeFile(join(dir, "tls.key"), second.key);
  await watch.check();
  await watch.check();
  t.same(pairs, []);
  t.match(faults, [{ code: "ERR_CONFIG_TLS_MISMATCH" }]);
  t.equal(faults.length, 1, "polling does not report the same fault again");
  await rm(join(dir, "tls.key"));
  await watch.check();
  t.match(faults[1], { code: "ERR_CONFIG_TLS_MISSING" });
  await replaceCertificates(dir, second);
  await watch.check();
  t.same(pairs.map(({ cert }) => cert), [second.cert]);
});

test("reports a certificate that the server rejects, and passes the certificate to the server again", async (t) => {
  const dir = t.testdir({});
  await storeCertificates(dir, first);
  let rejections = 1;
  const { watch, pairs, faults } = await watched(dir, () => {
    if (rejections-- > 0) throw new Error("planted");
  });
  await replaceCertificates(dir, second);
  await watch.check();
  t.match(faults, [{ message: "planted" }]);
  t.same(pairs, []);
  await watch.check();
  t.equal(pairs.length, 1);
});

test("starts even if the certificate folder does not exist", async (t) => {
  const dir = t.testdir({});
  await storeCertificates(dir, first);
  const { watch, faults } = await watched(dir);
  await rm(dir, { recursive: true });
  watch.start();
  t.teardown(() => watch.close());
  await watch.check();
  t.match(faults, [{ code: "ERR_CONFIG_TLS_MISSING" }]);
});
