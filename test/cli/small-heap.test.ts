import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { test } from "tap";

const MODULE = path.join(import.meta.dirname, "../../cli/small-heap.ts");

/** Allocates objects that live for a while, like loaded modules. Prints the size of the young generation in bytes. */
const PROGRAM = `
  const live = [];
  for (let i = 0; i < 2_000_000; i++) { live.push({ i }); if (live.length > 200_000) live.length = 0; }
  const spaces = process.getBuiltinModule("v8").getHeapSpaceStatistics();
  const young = spaces.find(({ space_name }) => space_name === "new_space");
  process.stdout.write(String(young.space_size));`;

async function youngBytes(before: string): Promise<number> {
  const argv = ["--input-type=module", "-e", before + PROGRAM];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  return Number(await text(child.stdout));
}

test("limitHeapGrowth limits the young generation of the heap to 5 MB during the start", async (t) => {
  const limited = await youngBytes(`(await import(${JSON.stringify(MODULE)})).limitHeapGrowth();`);
  const unlimited = await youngBytes("");
  t.ok(limited > 0 && limited <= 5 * 2 ** 20, `${limited} bytes with the limit`);
  t.ok(unlimited > 1.5 * limited, `${unlimited} bytes without the limit`);
  const endsAtOnce = "globalThis.setTimeout = (run) => { run(); return { unref() {} }; };";
  const later = await youngBytes(`${endsAtOnce}(await import(${JSON.stringify(MODULE)})).limitHeapGrowth();`);
  t.ok(later > 1.5 * limited, `${later} bytes after the start`);
});
