// Random tests with hostile inputs, for a limited time: node test/fuzz/main.ts [--seconds N] [--seed N] [--target NAME]
import process from "node:process";
import { parseArgs } from "node:util";
import { IDENTITIES } from "./identities.ts";
import { FILES, MANIFESTS, TEXTS } from "./manifests.ts";
import { FORMS, QUERIES, SELECTORS, SIGNATURES } from "./sidecar.ts";
import type { Target } from "./target.ts";
import { WEBHOOK } from "./webhook.ts";

const TARGETS: readonly Target[] = [
  WEBHOOK, MANIFESTS, FILES, TEXTS, FORMS, SIGNATURES, QUERIES, SELECTORS, IDENTITIES,
];
/**
 * The target of the webhook runs this many times as long as each other target, because the webhook has the most inputs.
 */
const WEBHOOK_SHARE = 4;
/** If an input blocks the event loop for longer than this time, in ms, the run prints the input. */
const PRINTED_BLOCK_MS = 100;

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "60" }, seed: { type: "string" }, target: { type: "string" } },
});

/** Exits with status 1 if a target fails. */
async function main(): Promise<void> {
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const targets = TARGETS.filter(({ name }) => values.target === undefined || values.target === name);
  const shares = targets.map((one) => (one === WEBHOOK ? WEBHOOK_SHARE : 1));
  const unitMs = (Number(values.seconds) * 1_000) / shares.reduce((sum, share) => sum + share, 0);
  if (targets.length === 0 || !(unitMs > 0) || !Number.isInteger(seed)) {
    const names = TARGETS.map(({ name }) => name).join(", ");
    throw new Error(`expected --seconds above 0, an integer --seed, and a --target of ${names}`);
  }
  process.stdout.write(`seed ${seed}\n`);
  for (const [i, { name, check }] of targets.entries()) {
    const milliseconds = unitMs * (shares[i] ?? 1);
    const { runs, longestBlockMs, blocking, slowestMs, failure } = await check({ seed, milliseconds });
    const times = `longest block ${Math.round(longestBlockMs)} ms, slowest response ${Math.round(slowestMs)} ms`;
    process.stdout.write(`${name}: ${runs} inputs, ${times}\n`);
    if (longestBlockMs > PRINTED_BLOCK_MS) process.stdout.write(`  ${blocking}\n`);
    if (failure === null) continue;
    process.exitCode = 1;
    process.stdout.write(`${failure}\nRepeat: npm run fuzz -- --seed ${seed} --target ${name}\n`);
  }
}

await main();
