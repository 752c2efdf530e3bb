import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { compareText } from "../../shared/formats/text.ts";
import { parseJSON } from "../../shared/formats/json.ts";
import { allowedActions, type PublishedPolicy } from "./statements.ts";

/** What the checkout of a controller says of its permissions. */
export interface Controller {
  /** The service, such as `s3`. */
  readonly service: string;
  readonly commit: string;
  readonly date: string;
  /** The operations of AWS that the controller calls, such as `CreateBucket`. */
  readonly calls: readonly string[];
  /** The policies that the controller recommends. */
  readonly policies: readonly PublishedPolicy[];
}

const FOLDER = /^(?<service>[a-z0-9]+)-controller$/;
/** Both forms in which the controllers of ACK call AWS. */
const CALLS = [
  /\b\w*(?:sdkapi|[cC]lient|sdkAPI|api)\.([A-Z][A-Za-z0-9]+)\(\s*(?:ctx|context)/g,
  /svcsdk\.New([A-Z][A-Za-z0-9]+)Paginator/g,
];

/** Reads a checkout of a controller, `NAME-controller`. `managedPolicy` returns a policy of AWS by its name. */
export function readCheckout(folder: string, managedPolicy: (name: string) => PublishedPolicy): Controller {
  const service = FOLDER.exec(path.basename(folder))?.groups?.["service"];
  if (service === undefined) throw new Error(`${folder} is not the checkout of a controller, NAME-controller`);
  const [commit = "", date = ""] = git(folder, "log", "-1", "--format=%h %cs").trim().split(" ");
  return { service, commit, date, calls: callsIn(folder), policies: policiesIn(folder, managedPolicy) };
}

function git(folder: string, ...argv: readonly string[]): string {
  return execFileSync("git", ["-C", folder, ...argv], { encoding: "utf8" });
}

function callsIn(folder: string): readonly string[] {
  const files = globSync("pkg/**/*.go", { cwd: folder }).filter((file) => !file.endsWith("_test.go"));
  const calls = files.flatMap((file) => {
    const text = readFileSync(path.join(folder, file), "utf8");
    return CALLS.flatMap((call) => Array.from(text.matchAll(call), ([, name = ""]) => name));
  });
  return [...new Set(calls)].toSorted(compareText);
}

/** Some controllers write ARNs of policies into the file for a policy, and some files are not valid JSON. */
function policiesIn(folder: string, managedPolicy: (name: string) => PublishedPolicy): readonly PublishedPolicy[] {
  return ["recommended-inline-policy", "recommended-policy-arn"].flatMap((name) => {
    const file = path.join(folder, "config/iam", name);
    const text = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
    const policy = parseJSON(text);
    if (policy !== undefined) return [{ name, statements: allowedActions(policy) }];
    const arns = text.split(/\s+/).filter((one) => one.startsWith("arn:"));
    return arns.map((arn) => managedPolicy(arn.slice(arn.lastIndexOf("/") + 1)));
  });
}
