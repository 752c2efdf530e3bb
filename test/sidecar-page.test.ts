import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { V1Role } from "@kubernetes/client-node";
import { test } from "tap";
import { parseAllDocuments } from "yaml";
import { nameOf, rightsOf } from "../manifests/rbac.ts";
import { WEBHOOK } from "../shared/core/installation.ts";
import { ERRORS } from "../shared/formats/errors.ts";
import { isJsonObject, type JsonObject } from "../shared/formats/json.ts";
import { defaultOf } from "../shared/core/setting-definition.ts";
import { SETTINGS } from "../shared/core/settings.ts";
import { fixedKinds } from "../shared/sources/cluster-kinds.ts";
import { readSettings } from "../shared/server/read-settings.ts";
import { runCommand } from "./cli/run-command.ts";

const read = (file: string): string => readFileSync(path.join(import.meta.dirname, "..", file), "utf8");
const PAGE = read("docs/sidecar.md");
const OF_PAGE = [...PAGE.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
const YAML = [read("manifests/sidecar/deployment.yaml"), ...OF_PAGE];
const [, CONFIG = ""] = /^```ini\n([^]*?)^```$/m.exec(PAGE) ?? [];

/** The objects in the manifest that the sidecar guide names, and in those that it shows. */
const OBJECTS = YAML.flatMap((block) => parseAllDocuments(block)).map((document): unknown => document.toJS());

function objectOf(kind: string): JsonObject {
  return OBJECTS.filter(isJsonObject).find((object) => object["kind"] === kind) ?? {};
}

/** Returns the value at a path, which consists of keys and indexes. */
function at(object: unknown, ...keys: readonly (string | number)[]): unknown {
  return keys.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
    object,
  );
}

const POD = at(objectOf("Deployment"), "spec", "template", "spec");
const SIDECAR = at(POD, "initContainers", 0);
const CONTROLLER = at(POD, "containers", 0);

/** Parses `--flag=value` and `--flag` arguments. */
function flagsOf(words: readonly string[]): Record<string, string | boolean | string[]> {
  return Object.fromEntries(words.map((word) => {
    const [flag = "", value] = word.split("=");
    const [name = "", definition] = Object.entries(SETTINGS).find(([, setting]) => setting.flag === flag) ?? [];
    if (definition === undefined) throw new Error(`unknown flag ${flag}`);
    return [name, value === undefined ? true : definition.type === "strings" ? [value] : value];
  }));
}

test("the sidecar guide shows valid sidecar arguments that match the volume mounts", async (t) => {
  const args = [at(SIDECAR, "args")].flat().map(String);
  t.equal(args[0], "sidecar");
  const settings = readSettings("sidecar", flagsOf(args.slice(1)), {});
  t.equal(at(SIDECAR, "restartPolicy"), "Always");
  const [tokenMount, stateMount] = [
    at(SIDECAR, "volumeMounts", 0, "mountPath"),
    at(SIDECAR, "volumeMounts", 1, "mountPath"),
  ];
  t.equal(settings.tokenFile, `${String(tokenMount)}/token`);
  t.equal(settings.stateDir, stateMount);
});

test("the sidecar guide shows controller variables that match the sidecar address and token file", async (t) => {
  const env = new Map([at(CONTROLLER, "env")].flat().map((one) => [String(at(one, "name")), String(at(one, "value"))]));
  const listen = String(defaultOf(SETTINGS.listen, "sidecar"));
  t.equal(env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"), `http://${listen}/v1/credentials`);
  t.equal(env.get("AWS_ENDPOINT_URL_STS"), `http://${listen}/sts`);
  t.equal(
    env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    `${String(at(CONTROLLER, "volumeMounts", 0, "mountPath"))}/token`,
  );
  t.equal(at(CONTROLLER, "volumeMounts", 0, "readOnly"), true);
  t.equal([at(CONTROLLER, "volumeMounts")].flat().length, 1, "the controller does not mount the state directory");
  t.notOk(env.has("AWS_ROLE_ARN"));
  t.equal(
    at(objectOf("Deployment"), "spec", "template", "metadata", "annotations", "eks.amazonaws.com/skip-containers"),
    at(CONTROLLER, "name"),
  );
  t.equal(at(POD, "enableServiceLinks"), false);
});

test("the sidecar guide shows in-memory volumes, and probes that use the health listener", async (t) => {
  for (const volume of [at(POD, "volumes")].flat())
    t.equal(at(volume, "emptyDir", "medium"), "Memory", String(at(volume, "name")));
  const port = Number(String(defaultOf(SETTINGS.healthListen, "sidecar")).split(":").at(-1));
  t.equal(at(SIDECAR, "ports", 0, "containerPort"), port);
  for (const [probe, endpoint] of [
    ["startupProbe", "/startupz"],
    ["readinessProbe", "/readyz"],
    ["livenessProbe", "/healthz"],
  ] as const) {
    t.same(at(SIDECAR, probe, "httpGet"), { path: endpoint, port: at(SIDECAR, "ports", 0, "name") });
  }
});

test("the RoleBinding in the sidecar guide names the Role that `manifests rbac` prints", async (t) => {
  const binding = objectOf("ClusterRoleBinding");
  t.equal(at(binding, "roleRef", "name"), nameOf("reader"));
  t.equal(at(binding, "subjects", 0, "name"), at(POD, "serviceAccountName"));
  t.match((await runCommand(["manifests", "rbac"])).stdout, `name: ${nameOf("reader")}`);
});

const CORE = "";
const ACK_SYSTEM = "ack-system";
const INSTALLATION = "ack-role-resolver";
const NAMESPACES = new Map([["`--ack-system-namespace`", ACK_SYSTEM], ["`--profile-namespace`", INSTALLATION]]);
/** The reader role has this right in each namespace, so that one binding suffices. The sidecar reads one object. */
const OF_PROFILE = { group: CORE, resource: "configmaps", objects: [WEBHOOK.profile], namespace: INSTALLATION };
interface Right {
  readonly group: string;
  readonly resource: string;
  readonly objects: readonly string[];
  readonly namespace: string | null;
}

/** Returns the rights that the rules of a rendered role grant. */
function rightsIn({ metadata = {}, rules = [] }: Pick<V1Role, "metadata" | "rules">): Right[] {
  return rules.map(({ apiGroups = [], resources = [], resourceNames = [], verbs }) => {
    if (!/^(get )?list watch$/.test(verbs.join(" "))) throw new Error(`unexpected verbs ${verbs.join(" ")}`);
    const [[group = ""], [resource = ""]] = [apiGroups, resources];
    return { group, resource, objects: resourceNames, namespace: metadata.namespace ?? null };
  });
}

/** Returns the rights in the table of the page. */
function documentedRights(): Right[] {
  const rows = PAGE.matchAll(/^\| (\S+) \| `(\w+)` \| (.+?) \| (.+?) \| (?:Cluster)?Role `/gm);
  return Array.from(rows, ([, group = "", resource = "", objects = "", namespace = ""]) => ({
    group: group === "core" ? CORE : group.replaceAll("`", ""),
    resource,
    objects: objects === "all" ? [] : objects.replaceAll("`", "").split(", "),
    namespace: NAMESPACES.get(namespace) ?? null,
  }));
}

test("the sidecar guide lists the rights that `manifests rbac` grants, and that the sidecar needs", async (t) => {
  const granted = [
    ...rightsIn({ rules: rightsOf("reader") }), OF_PROFILE,
    ...rightsIn({ metadata: { namespace: ACK_SYSTEM }, rules: rightsOf("carm-maps") }),
  ];
  t.same(documentedRights(), granted);
  const needed = [...fixedKinds(null), ...fixedKinds("carmMaps", ACK_SYSTEM)];
  for (const { group, plural, object } of needed) {
    const right = granted.find((one) => (
      one.group === group && one.resource === plural && (object === undefined || one.objects.includes(object.name))
    ));
    t.ok(right, plural);
    t.equal(right?.namespace ?? null, object?.namespace ?? null, plural);
  }
  t.equal(granted.flatMap(({ objects }) => (objects.length === 0 ? [""] : objects)).length, needed.length + 1);
  const binding = objectOf("RoleBinding");
  t.same(at(binding, "roleRef", "name"), nameOf("carm-maps"));
  t.equal(at(binding, "subjects", 0, "name"), at(POD, "serviceAccountName"));
  const { stdout } = await runCommand(["manifests", "rbac"]);
  t.match(stdout, `name: ${nameOf("carm-maps")}`);
});

test("the sidecar guide shows a valid selector, and lists each of its annotations in a table", async (t) => {
  const selector = YAML.find((block) => block.includes("kind: IAMRoleSelector")) ?? "";
  t.match(await runCommand(["lint", "-"], { stdin: selector }), { status: 0, stdout: /^1 checked, 0 denied/ });
  const annotations = Object.keys(Object(at(objectOf("IAMRoleSelector"), "metadata", "annotations")));
  t.equal(annotations.length, 5);
  for (const name of annotations) t.match(PAGE, `| \`${name}\` |`);
});

test("the sidecar guide shows an AWS profile whose credential-process arguments are valid", async (t) => {
  const [, line = ""] = /^credential_process = \/\S+\/ack-role-resolver credential-process (.*)$/m.exec(CONFIG) ?? [];
  const words = line.replaceAll(/(--\S+) ([^-]\S*)/g, "$1=$2").split(" ");
  const settings = readSettings("credential-process", flagsOf(words), {});
  t.match(settings, { endpoint: `http://${String(defaultOf(SETTINGS.listen, "sidecar"))}`, selector: "team-a" });
});

test("the sidecar guide names only error codes and flags that exist", async (t) => {
  for (const [code] of PAGE.matchAll(/ERR_[A-Z_]+/g)) t.ok(Object.hasOwn(ERRORS, code), code);
  const flags = new Set<string>(Object.values(SETTINGS).map(({ flag }) => flag));
  for (const [flag] of PAGE.matchAll(/(?<=[\s`])--[a-z]+(-[a-z]+)*/g))
    t.ok(flags.has(flag) || flag === "--explain", flag);
});

test("the sidecar guide names only pages and metrics that exist", async (t) => {
  for (const [, file = ""] of PAGE.matchAll(/\]\(([^)#]*)[^)]*\)/g))
    t.ok(existsSync(path.join(import.meta.dirname, "../docs", file)), file);
  const metrics = readFileSync(path.join(import.meta.dirname, "../docs/metrics.md"), "utf8");
  for (const [, name = ""] of PAGE.matchAll(/`ack_role_resolver_(\w+)`/g)) t.match(metrics, `- \`${name}\` (`);
});
