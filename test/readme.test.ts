import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import manifest from "../package.json" with { type: "json" };
import { runCommand } from "./cli/run-command.ts";
import { argumentsOf, documentedCommands } from "./documented-commands.ts";

const ROOT = path.join(import.meta.dirname, "..");
const README = readFileSync(path.join(ROOT, "README.md"), "utf8");

test("each sample output in the README is the real output of its command", async (t) => {
  process.chdir(ROOT);
  const samples = documentedCommands(README);
  t.ok(samples.length >= 1);
  for (const { command, output } of samples) {
    t.equal((await runCommand(argumentsOf(command))).stdout, output, command);
  }
});

test("every command and npm script in the README exists", async (t) => {
  for (const [, command = ""] of README.matchAll(/npx --no-install ack-role-resolver ([a-z]+)/g)) {
    t.equal((await runCommand([command, "--help"])).status, 0, command);
  }
  const scripts = new Set(Object.keys(manifest.scripts));
  for (const [, script = ""] of README.matchAll(/npm run ([a-z:]+)/g)) t.ok(scripts.has(script), script);
});

test("every flag in the README belongs to its command", async (t) => {
  for (const [, line = ""] of README.matchAll(/npx --no-install ack-role-resolver ([^|\n]+)/g)) {
    const words = line.split(" ");
    const command = words[0] === "certs" ? ["certs", "make"] : words.slice(0, 1);
    const { stdout } = await runCommand([...command, "--help", "--all"]);
    const flags = words.filter((word) => word.startsWith("--"));
    for (const flag of flags) t.match(stdout, `${flag} `, `${command.join(" ")} ${flag}`);
  }
});

test("every folder in the README exists", async (t) => {
  for (const [, folder = ""] of README.matchAll(/`([a-z/]+\/)`/g)) t.ok(existsSync(path.join(ROOT, folder)), folder);
});
