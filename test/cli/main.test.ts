import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "tap";

const MAIN = path.join(import.meta.dirname, "../../cli/main.ts");
const MISSING_FILES = Array.from({ length: 3 }, (_, i) => `missing-${i}.yaml`);

const NO_FULL_DEVICE = process.platform !== "linux" && "/dev/full does not exist";

test("exits 2 and prints one error line if writing to standard output fails", { skip: NO_FULL_DEVICE }, async (t) => {
  const stdio = ["ignore", openSync("/dev/full", "w"), "pipe"] as const;
  const child = spawn(process.execPath, [MAIN, "manifests", "rbac"], { env: {}, stdio: [...stdio] });
  const [stderr, closed] = await Promise.all([text(child.stderr ?? Readable.from([])), once(child, "close")]);
  t.same(closed, [2, null]);
  const message = "cannot write to standard output (ENOSPC); free disk space or redirect the output";
  t.equal(stderr, `ack-role-resolver: ${message}\n`);
});

test("returns the same exit status if the reader closes standard output or standard error", async (t) => {
  const lint = spawn(process.execPath, [MAIN, "lint", ...MISSING_FILES], {
    env: {},
    stdio: ["ignore", "pipe", "pipe"],
  });
  lint.stdout.destroy();
  lint.stderr.destroy();
  t.same(await once(lint, "close"), [2, null]);
  const argv = [MAIN, "manifests", "rbac"];
  const manifests = spawn(process.execPath, argv, { env: {}, stdio: ["ignore", "pipe", "ignore"] });
  manifests.stdout.destroy();
  t.same(await once(manifests, "close"), [0, null]);
});
