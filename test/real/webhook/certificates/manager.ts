// Runs `ack-role-resolver certs manage` with short durations of the certificates. The arguments are the flags by
// setting name and the durations, both as JSON.
import process from "node:process";
import { runCertsManage } from "../../../../cli/certs.ts";
import { isJsonObject } from "../../../../shared/formats/json.ts";
import { readSettings } from "../../../../shared/server/read-settings.ts";

const [flags, durations] = process.argv.slice(2).map((text) => {
  const value: unknown = JSON.parse(text);
  return isJsonObject(value) ? value : {};
});
const strings = Object.fromEntries(Object.entries(flags ?? {}).map(([name, value]) => [name, String(value)]));
const settings = readSettings("certs manage", { ...strings, url: "https://127.0.0.1" }, {});
const timing = Object.fromEntries(Object.entries(durations ?? {}).map(([name, ms]) => [name, Number(ms)]));
await runCertsManage(settings, { timing });
