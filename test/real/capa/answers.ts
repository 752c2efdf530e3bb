import process from "node:process";
import { field, parseJSON, stringAt, stringMap } from "../../../shared/formats/json.ts";
import { COMPILE_CACHE, runProgram } from "../../programs/run-program.ts";
import { INFRASTRUCTURE, withFields } from "../../shared/capa-objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { CLUSTERS, collectionOf, nameOf } from "./examples.ts";

const MAIN = new URL("../../../cli/main.ts", import.meta.url).pathname;
const PREFIX = "ack-role-resolver.io/";

/**
 * The credentials of each cluster, by its name: the ARN of a role, `static NAME` for the key of a static identity,
 * `default` for CAPA's own key, or the code of the error for which CAPA refuses the identity.
 */
export type Answers = Readonly<Record<string, string>>;

/** Returns the answers of `resolve --cluster`. */
export async function predictions(cluster: Cluster): Promise<Answers> {
  const args = [MAIN, "resolve", "--cluster", "--kubeconfig", cluster.kubeconfig, "-o", "json"];
  const { stdout, stderr } = await runProgram(process.execPath, args, { cwd: "/", env: COMPILE_CACHE });
  const resolved = parseJSON(stdout);
  if (!Array.isArray(resolved)) throw new Error(`resolve failed: ${stderr}`);
  return Object.fromEntries(resolved.map((one: unknown) => {
    const [name, outcome] = [stringAt(one, "resource", "name"), stringAt(one, "outcome")];
    const [link] = [field(one, "chain")].flat();
    const used = outcome === "default" ? outcome : stringAt(one, "roleARN") ?? `static ${stringAt(link, "name")}`;
    return [name, outcome === "refused" ? stringAt(one, "code") : used];
  }));
}

/** Returns the answers of the annotations. A refused cluster has the answer `refused`. */
export async function annotations(cluster: Cluster): Promise<Answers> {
  const { body } = await cluster.request("GET", `/apis/${INFRASTRUCTURE}/v1beta2/awsclusters`);
  return Object.fromEntries([field(body, "items")].flat().map((one) => {
    const texts = stringMap(field(field(one, "metadata"), "annotations"));
    const [outcome, roleARN] = [texts.get(`${PREFIX}outcome`) ?? "none", texts.get(`${PREFIX}role-arn`)];
    const name = texts.get(`${PREFIX}identity-chain`)?.replace(/^.*\//, "");
    return [stringAt(one, "metadata", "name"), outcome === "selected" ? roleARN ?? `static ${name}` : outcome];
  }));
}

/** Creates each cluster again in a dry run. Returns `admitted`, or the code of the denial, by the name. */
export async function admissions(cluster: Cluster): Promise<Answers> {
  return Object.fromEntries(await Promise.all(CLUSTERS.map(async (one) => {
    const name = nameOf(one);
    const copy = withFields(one, "metadata", { name: `${name}.copy` });
    const { status, body } = await cluster.request("POST", `${collectionOf(one)}?dryRun=All`, copy);
    const [, code = body] = /denied the request: ([A-Z]+-\d+) /.exec(stringAt(body, "message") ?? "") ?? [];
    return [name, status === 201 ? "admitted" : code];
  })));
}
