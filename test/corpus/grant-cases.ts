import type { Case } from "./case.ts";
import { inventory, type RandomInventory } from "./generate/inventories.ts";
import { hashOf, isObject, type Json, textAt } from "./generate/json.ts";
import { CLUSTER_NAMESPACES, NAMESPACES, RESOURCE_KINDS } from "./generate/names.ts";
import type { Environment } from "./generate/settings.ts";
import { BASE, FakeSTS } from "./programs/fake-sts.ts";
import { type SidecarAnswer, SidecarProgram } from "./programs/sidecar.ts";

/** The random inventories of the sidecar. They cover all sets of settings. */
const INVENTORIES = 30;

/** Sets of settings that concern only the sidecar. Each inventory uses one of them. */
const MODES: readonly Environment[] = [
  {}, { ACK_ROLE_RESOLVER_SCOPE_NAMESPACE: "team-a" }, { ACK_ROLE_RESOLVER_UNMATCHED: "deny" },
  { ACK_ROLE_RESOLVER_BASE: "identity-only" }, { ACK_ROLE_RESOLVER_KIND: "Bucket.s3.services.k8s.aws" },
];

/** Yields what a sidecar grants for each request that the objects of a random inventory suggest. */
export async function* grantCases(): AsyncIterable<Case> {
  const sts = new FakeSTS();
  const url = await sts.start();
  for (let number = 0; number < INVENTORIES; number++) {
    const state = inventory(number);
    const environment = { ...state.environment, ...MODES[number % MODES.length] };
    const sidecar = await SidecarProgram.start(state.objects, environment, url);
    const prefix = `grant ${String(number).padStart(2, "0")} ${state.settings}: `;
    const hash = hashOf([state.objects, environment]);
    const caseOf = (request: string, answer: SidecarAnswer): Case => (
      { id: prefix + request, input: hashOf([hash, request]), ...answerOf(answer, sts) }
    );
    for (const path of pathsOf(state)) yield caseOf(`GET ${path}`, await sidecar.get(path));
    yield caseOf("GET without the token", await sidecar.get("/v1/credentials", "wrong"));
    for (const parameters of rolesOf(state)) {
      const answer = await sidecar.assumeRole(parameters);
      if (answer !== null) yield caseOf(`AssumeRole ${JSON.stringify(parameters)}`, answer);
    }
    await sidecar.close();
  }
  sts.close();
}

function pathsOf({ objects }: RandomInventory): string[] {
  const base = "/v1/credentials";
  const kinds = RESOURCE_KINDS.map(({ kind, group }) => `?kind=${kind}.v1alpha1.${group}`);
  const names = (kind: string): string[] => objects.filter((one) => one["kind"] === kind).map(
    (one) => textAt(one, "metadata", "name")
  );
  const identities = ["Controller", "Static", "Role"].flatMap((word) => {
    const kind = `AWSCluster${word}Identity`;
    return [...names(kind), "absent"].flatMap(
      (name) => [CLUSTER_NAMESPACES[0], "team-b"].map((one) => `${kind}/${name}?namespace=${one}`)
    );
  });
  return [
    base, ...[...NAMESPACES, "absent"].flatMap((name, i) => (
      ["", kinds[i % kinds.length], `${kinds[0]}&label=tier=gold`].map((query) => `${base}/namespaces/${name}${query}`)
    )),
    ...[...names("IAMRoleSelector"), "absent"].map((name) => `${base}/selectors/${name}`),
    ...identities.map((one) => `${base}/identities/${one}`),
    `${base}/namespaces/Not_Valid`, `${base}/namespaces/team-a?kind=Bucket`, `${base}/namespaces/team-a?label=a b`,
    `${base}/other`,
    `${base}?namespace=team-a`, `${base}/identities/Other/a?namespace=team-a`,
  ].map((path) => path.replaceAll(" ", "%20"));
}

/** The roles of the selectors and identities, as a controller would assume them, and a role that nothing grants. */
function rolesOf({ objects }: RandomInventory): Readonly<Record<string, string>>[] {
  const roles = objects.flatMap((one) => [textAt(one, "spec", "arn"), textAt(one, "spec", "roleARN")]);
  const known = [...new Set(roles)].filter((one) => one.startsWith("arn:"));
  const other = { RoleArn: "arn:aws:iam::111122223333:role/absent" };
  const first = known[0] ?? other.RoleArn;
  return [
    ...known.map((RoleArn) => ({ RoleArn })), other, { RoleArn: first, ExternalId: "ext-1" },
    { RoleArn: first, DurationSeconds: "7200" },
  ];
}

function answerOf({ status, body }: SidecarAnswer, sts: FakeSTS): Omit<Case, "id" | "input"> {
  const json: unknown = body.startsWith("{") ? JSON.parse(body) : null;
  const find = (name: string): string => textAt(json, name) || (
    new RegExp(`<${name}>([^<]*)</${name}>`).exec(body)?.[1] ?? ""
  );
  if (status !== 200) return {
    status, outcome: `rejected ${find("code") || find("Code")}`, messages: [find("message") || find("Message")],
  };
  const key = find("AccessKeyId");
  const call = sts.callOf(key);
  const account: Json = isObject(json) && json["AccountId"] !== undefined ? { account: json["AccountId"] } : {};
  if (call !== undefined) return { status, outcome: "granted", grant: { ...call, ...account } };
  return { status, outcome: key === BASE.accessKeyID ? "base" : "other credentials", grant: account };
}
