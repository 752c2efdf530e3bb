import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "tap";

const MAIN = path.join(import.meta.dirname, "../../cli/main.ts");
const MISSING = Array.from({ length: 3 }, (_, i) => `missing-${i}.yaml`);

test("output that cannot be written is exit 2 and one line, not half an answer", { skip: process.platform !== "linux" && "there is no /dev/full" }, async (t) => {
  const child = spawn(process.execPath, [MAIN, "manifests", "crds"], { env: {}, stdio: ["ignore", openSync("/dev/full", "w"), "pipe"] });
  const [stderr, closed] = await Promise.all([text(child.stderr ?? Readable.from([])), once(child, "close")]);
  t.same(closed, [2, null]);
  t.equal(stderr, "ack-role-resolver: standard output cannot be written (ENOSPC); make room for it, or write it elsewhere\n");
});

test("a reader that leaves, of output or of errors, changes no exit status", async (t) => {
  const lint = spawn(process.execPath, [MAIN, "lint", ...MISSING], { env: {}, stdio: ["ignore", "pipe", "pipe"] });
  lint.stdout.destroy();
  lint.stderr.destroy();
  t.same(await once(lint, "close"), [2, null]);
  const manifests = spawn(process.execPath, [MAIN, "manifests", "crds"], { env: {}, stdio: ["ignore", "pipe", "ignore"] });
  manifests.stdout.destroy();
  t.same(await once(manifests, "close"), [0, null]);
});
