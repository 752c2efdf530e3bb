import path from "node:path";
import { loadAll } from "js-yaml";
import manifest from "../../package.json" with { type: "json" };
import { runCommand } from "../cli/run-command.ts";
import type { Case } from "./case.ts";
import { hashOf, isObject, type Json, textAt } from "./generate/json.ts";

const CA = path.join(import.meta.dirname, "examples/ca.crt");
const OUTSIDE = ["--url", "https://webhook.example.internal:9443", "--ca-file", CA];

/** The flags of the printed parts. */
const RENDERINGS: readonly (readonly string[])[] = [
  [], ["--runtime", "extended"],
  [
    "--controller-users", "ack-system/ack-s3-controller",
    "--controller-users", "arn:aws:sts::*:assumed-role/ack*",
    "--allowed-accounts", "111122223333", "--allowed-endpoint-hosts", "s3.amazonaws.com", "--waiver-users",
    "platform@example.com",
    "--check", "IRS-02=warn,ACK-10=off,NS-08=warn,FE-01=off,ACK-05=deny",
  ],
  [
    "--identity-secret-namespace", "capa-system", "--auto-controller-identity", "--extra-groups",
    "new.services.k8s.aws",
  ],
];
const PRINTED = [
  ["all", ...OUTSIDE],
  ...RENDERINGS.flatMap((flags) => ["crds", "rbac", "policies", "webhooks"].map((part) => [part, ...flags])),
];

/** Yields the objects and the CEL expressions of the parts that the program prints. */
export async function* manifestCases(): AsyncIterable<Case> {
  for (const printed of PRINTED) {
    const shown = printed.map((one) => (one === CA ? "ca.crt" : one));
    const { status, stdout, stderr } = await runCommand(["manifests", ...printed]);
    const id = ["manifests", ...shown].join(" ");
    const input = hashOf(shown);
    const objects = loadAll(stdout.replaceAll(manifest.version, "VERSION")).filter(isObject);
    const names = objects.map(nameOf);
    yield { id, input, outcome: `exit ${status}`, output: names, messages: stderr === "" ? [] : [stderr] };
    for (const [i, object] of objects.entries()) {
      const messages: string[] = [];
      const expressions: Record<string, string> = {};
      const rest = withoutTexts(object, "", { messages, expressions });
      const output = { hash: hashOf(rest), ...(Object.keys(expressions).length > 0 && { expressions }) };
      yield { id: `${id}: ${names[i]}`, input, outcome: "printed", output, messages };
    }
  }
}

function nameOf(object: Json): string {
  const names = [textAt(object, "metadata", "namespace"), textAt(object, "metadata", "name")];
  return `${textAt(object, "kind")} ${names.filter((one) => one !== "").join("/")}`;
}

interface Texts {
  readonly messages: string[];
  /** CEL by path. */
  readonly expressions: Record<string, string>;
}

/** Returns the value without messages and CEL, and adds both to `texts`. */
function withoutTexts(value: unknown, place: string, texts: Texts): unknown {
  if (Array.isArray(value)) {
    return value.map((item, i) => withoutTexts(item, `${place}[${textAt(item, "name") || i}]`, texts));
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
    const at = place === "" ? key : `${place}.${key}`;
    if (typeof item !== "string") return [[key, withoutTexts(item, at, texts)]];
    if (key === "description") return [];
    if (key === "expression") texts.expressions[at] = item;
    else if (key === "message" || key === "messageExpression") texts.messages.push(item);
    else return [[key, item]];
    return [];
  });
  return Object.fromEntries(entries);
}
