import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { test } from "tap";

const MODULE = path.join(import.meta.dirname, "../../cli/small-heap.ts");

/** Keeps for a while what it makes, as the loading of modules does, and prints how large the young generation became, in bytes. */
const PROGRAM = `
  const kept = [];
  for (let i = 0; i < 2_000_000; i++) { kept.push({ i }); if (kept.length > 200_000) kept.length = 0; }
  const young = process.getBuiltinModule("v8").getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  process.stdout.write(String(young.space_size));`;

async function youngBytes(before: string): Promise<number> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", before + PROGRAM], { stdio: ["ignore", "pipe", "inherit"] });
  return Number(await text(child.stdout));
}

test("the young generation does not grow with what a start allocates, as it would", async (t) => {
  const [small, usual] = [await youngBytes(`(await import(${JSON.stringify(MODULE)})).keepHeapSmall();`), await youngBytes("")];
  t.ok(small > 0 && small <= 5 * 2 ** 20, `${small} bytes`);
  t.ok(usual > 1.5 * small, `${usual} bytes otherwise`);
});
