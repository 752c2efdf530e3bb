import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import { put, selectorObject } from "../objects.ts";
import { runCommand } from "../../cli/run-command.ts";
import { FakeClock } from "../../sidecar/fake-clock.ts";
import { BASE, get, start } from "../../sidecar/running-sidecar.ts";
import { EventServer, settle } from "../../sidecar/event-server.ts";
import { CASES, EXTERNAL_ID, type RefusalCase, ROLE, SESSION, TAG_VALUE } from "./refusal-cases.ts";

const PATH = "/v1/credentials/selectors/team-a";

interface Refused {
  readonly note: string;
  /** What clients get, and what the sidecar logs. */
  readonly texts: readonly string[];
}

async function refuse(t: Parameters<typeof start>[0], one: RefusalCase): Promise<Refused> {
  const { code = "AccessDenied", message, base = SESSION, environment = {}, annotations = {}, role = ROLE } = one;
  const [clock, api] = [new FakeClock(Date.now()), new EventServer()];
  const status = code === "AccessDenied" ? 403 : 400;
  const sidecar = await start(t, {}, {
    clock, api, environment,
    baseProvider: async () => (
      { ...BASE, accessKeyID: "ASIAOTHER", sessionToken: base.sessionToken ?? null, expirationMs: null }
    ),
  }, {
    faults: ({ action }) => (action === "AssumeRole" ? { do: "reject", code, status, message } : null),
    keys: [{ ...base, accessKeyID: "ASIAOTHER" }],
  });
  const spec = { arn: role, namespaceSelector: { names: ["team-a"] } };
  sidecar.source.inventory.apply([put(selectorObject("team-a", spec, { annotations }))]);
  const { body } = await get(sidecar.sidecar.address, PATH);
  await settle(clock, 3);
  const note = stringAt(api.events[0], "note") ?? "";
  return { note, texts: [body, ...sidecar.logLines, JSON.stringify(api.events)] };
}

/** Returns the arguments of a command, as a shell passes them on. */
function argumentsOf(command: string): readonly string[] {
  const script = `set -- ${command}; printf '%s\\0' "$@"`;
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

/** Returns the command of a note after what the user puts in place of its words in capitals. */
function commandOf(note: string, folder: string): readonly string[] {
  const command = /Show it: `(.*?)`\. STS returned/.exec(note)?.[1] ?? "";
  const [program, ...args] = argumentsOf(command);
  if (program !== "ack-role-resolver") throw new Error(note);
  return args.map((one) => (
    one.replace(/^(\d{12}\.json)$/, path.join(folder, "$1")).replace("=VALUE", `=${TAG_VALUE}`)
      .replace("EXTERNAL_ID", EXTERNAL_ID).replace("SOURCE_IDENTITY", "someone")
  ));
}

for (const one of CASES) {
  test(`the Event names the cause, and its command shows it: ${one.title}`, async (t) => {
    const { note, texts } = await refuse(t, one);
    t.match(note, one.event);
    t.match(note, /^The role of IAMRoleSelector team-a cannot be assumed: STS (denied|rejected) sts:/);
    t.ok(Buffer.byteLength(note) <= 1_024, note);
    for (const text of texts) t.notMatch(text, new RegExp(`${EXTERNAL_ID}|${TAG_VALUE}`));
    if (one.check === null) {
      t.notMatch(note, "Show it: ");
      return;
    }
    const folder = t.testdir();
    for (const [account, file] of Object.entries(one.exports ?? {})) {
      writeFileSync(path.join(folder, `${account}.json`), JSON.stringify(file));
    }
    const { status, stdout, stderr } = await runCommand([...commandOf(note, folder), "-o", "json"]);
    t.equal(status, 1, stderr);
    const [action, reason] = one.check;
    const answer: unknown = JSON.parse(stdout);
    t.match(answer, { verdict: "no" });
    const actions = field(answer, "actions");
    const others = Array.isArray(actions) ? actions.filter((each) => field(each, "verdict") !== "yes") : [];
    t.match(others, [{ action, verdict: "no", reason }]);
  });
}
