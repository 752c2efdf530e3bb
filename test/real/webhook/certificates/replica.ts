// Runs `ack-role-resolver webhook` with short durations of the certificates. The arguments are the flags by setting
// name and the durations, both as JSON.
import process from "node:process";
import { runWebhookCommand } from "../../../../cli/webhook.ts";
import { isJsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { readSettings } from "../../../../shared/server/settings.ts";

const [flags, timing] = process.argv.slice(2).map((text) => {
  const value: unknown = JSON.parse(text);
  return isJsonObject(value) ? value : {};
});
const strings = Object.fromEntries(Object.entries(flags ?? {}).map(([name, value]) => (
  [name, typeof value === "boolean" ? value : String(value)]
)));
const settings = readSettings("webhook", { ...strings, tlsHost: ["127.0.0.1"] }, {});
const { stdin, stdout, stderr } = process;
const certificateTiming = Object.fromEntries(Object.entries(timing ?? {}).map(([name, ms]) => [name, Number(ms)]));
await runWebhookCommand(settings, { stdin, stdout, stderr, environment: {} }, { certificateTiming });
