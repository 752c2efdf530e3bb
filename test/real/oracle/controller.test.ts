import { readFile } from "node:fs/promises";
import path from "node:path";
import * as fc from "fast-check";
import type { Test } from "tap";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { runCommand } from "../../cli/run-command.ts";
import { RESOLUTION } from "../../../shared/core/annotation-keys.ts";
import { ACK_RUNTIME, ackProgramsIn } from "../../programs/ack-runtime.ts";
import { MOTO, wheelsIn } from "../../programs/wheels.ts";
import { parameters } from "../../shared/property.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { findPrograms } from "../find-programs.ts";
import { ENVIRONMENT } from "../planted-sidecar.ts";
import { startMoto } from "../sdks/moto.ts";
import { startServer } from "../server-process.ts";
import { apply, installWebhook } from "../webhook/installed-webhook.ts";
import { type ACKController, sessionOf, startACKController } from "./ack-controller.ts";
import { OWN_ACCOUNT, type Round, rounds } from "./random-rounds.ts";

const S3 = "s3.services.k8s.aws";
const REGION = "eu-west-1";
/** How long the controller may take to reconcile all buckets. */
const SETTLE_MS = 15_000;

/** The flags of the controller and of this project for the two ways in which ACK finds roles. */
const MODES = {
  selectors: {
    ack: ["--enable-carm=false", "--feature-gates=IAMRoleSelector=true"], ours: [],
    outcomes: ["own", "conflict", "drift", `${OWN_ACCOUNT}/one`],
  },
  carm: {
    ack: ["--feature-gates=TeamLevelCARM=true,ServiceLevelCARM=true"],
    ours: ["--mode", "carm", "--team-level-carm", "--service-level-carm"],
    outcomes: ["own", "refused", `${OWN_ACCOUNT}/carm`],
  },
} as const;

onCluster("a controller on the runtime of ACK", async (t, cluster) => {
  const folders = await findPrograms(t, ACK_RUNTIME, MOTO);
  if (folders === null) return;
  const { controller } = ackProgramsIn(folders[0]);
  const moto = await startMoto(t, await wheelsIn(folders[1]));
  for (const mode of ["selectors", "carm"] as const) {
    await t.test(`resolves 200 buckets to the same roles as this project, by ${mode}`, async (tt) => {
      const counts = await compare(tt, cluster, mode, { controller, moto });
      tt.comment(JSON.stringify(Object.fromEntries(counts)));
      tt.same(MODES[mode].outcomes.filter((outcome) => !counts.has(outcome)), [], "each outcome occurs");
    });
  }
});

interface Programs {
  /** The path of the controller. */
  readonly controller: string;
  /** The URL of STS. */
  readonly moto: string;
}

/** Returns how often each outcome occurred. */
async function compare(
  t: Test, cluster: Cluster, mode: keyof typeof MODES, { controller: program, moto }: Programs,
): Promise<ReadonlyMap<string, number>> {
  const settings = ["--region", REGION, "--controller-account", OWN_ACCOUNT, ...MODES[mode].ours];
  const flags = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "admin", ...settings];
  // The webhook admits conflicts. The installation waits until it denies by IRS-16.
  await installWebhook(t, cluster, [...settings, "--profile", "observe", "--check", "IRS-16=deny"]);
  const tokenFile = path.join(t.testdir({}), "token");
  const sidecar = await startServer(
    "sidecar", [...flags, "--group", S3, "--sts-endpoint", moto, "--token-file", tokenFile], ENVIRONMENT,
  );
  t.teardown(() => sidecar.stop());
  const service = [`--aws-endpoint-url=${moto}`, "--allow-unsafe-aws-endpoint-urls"];
  const controller = await startACKController(t, program, [...MODES[mode].ack, ...service], {
    KUBECONFIG: cluster.kubeconfig, AWS_REGION: REGION, AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${sidecar.address}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: await readFile(tokenFile, "utf8"),
    AWS_ENDPOINT_URL_STS: `http://${sidecar.address}/sts`,
  });
  const outcomes = new Map<string, number>();
  for (const [i, round] of fc.sample(rounds, parameters(t, 3)).entries()) {
    await change(cluster, round);
    const verdicts = await settled(t, cluster, { controller, flags, buckets: round.buckets, round: i });
    for (const verdict of verdicts) outcomes.set(verdict, (outcomes.get(verdict) ?? 0) + 1);
  }
  return outcomes;
}

async function change(cluster: Cluster, { selectors, removed, context }: Round): Promise<void> {
  await apply(cluster, context);
  // Server-side apply stores `matchLabels: null` if a selector loses all of its labels.
  await apply(cluster, selectors, []);
  await cluster.kubectl(["delete", "iamroleselectors", "--ignore-not-found", ...removed]);
}

interface Settling {
  readonly controller: ACKController;
  readonly flags: readonly string[];
  readonly buckets: readonly JsonObject[];
  readonly round: number;
}

/**
 * Changes all buckets, so that the controller reconciles them, and compares the verdicts when it has. A controller can
 * reconcile a bucket before its caches contain the changes of the round. Then the bucket is changed again.
 */
async function settled(
  t: Test, cluster: Cluster, { controller, flags, buckets, round }: Settling,
): Promise<readonly string[]> {
  let differing: readonly object[] = [];
  let ours: Verdicts = new Map();
  const agree = async (): Promise<boolean> => {
    const stored = await verdictsInCluster(cluster, controller);
    ours = await verdictsOfThisProject(flags);
    differing = [...ours].flatMap(([name, one]) => {
      const { verdict, annotated } = stored.get(name) ?? {};
      return verdict === one.verdict && annotated === one.annotated ? [] : [{ name, ours: one, verdict, annotated }];
    });
    return differing.length === 0;
  };
  for (const attempt of [1, 2]) {
    controller.errors.clear();
    const spec = { name: "bucket", changed: `${round}.${attempt}` };
    await apply(cluster, buckets.map((bucket) => ({ ...bucket, spec })));
    if (await until(agree, SETTLE_MS)) break;
    t.comment(`round ${round}, attempt ${attempt}: ${differing.length} differ`, differing.slice(0, 3));
  }
  t.same(differing.slice(0, 3), [], `round ${round}: ${differing.length} of ${ours.size} buckets differ`);
  return [...ours.values()].map(({ verdict }) => verdict);
}

interface Verdict {
  /** A role as `ACCOUNT/NAME`, `own`, `conflict`, `drift` or `refused`; or the text of an error. */
  readonly verdict: string;
  /** The outcome and the role in the annotations of the webhook. */
  readonly annotated: string;
}

/** By `NAMESPACE/NAME`. */
type Verdicts = ReadonlyMap<string, Verdict>;

/** Returns the verdicts of the controller and of the webhook. */
async function verdictsInCluster(cluster: Cluster, { errors }: ACKController): Promise<Verdicts> {
  const { body } = await cluster.request("GET", `/apis/${S3}/v1alpha1/buckets`);
  const items = field(body, "items");
  return new Map((Array.isArray(items) ? items : []).map((one: unknown) => {
    const name = nameIn(field(one, "metadata"));
    const status = field(one, "status");
    const isReconciled = field(status, "observedGeneration") === field(field(one, "metadata"), "generation");
    const verdict = isReconciled && isJsonObject(status) ? sessionOf(status) : verdictOfError(errors.get(name) ?? "");
    const annotations = field(field(one, "metadata"), "annotations");
    return [name, { verdict, annotated: textOf(annotations, RESOLUTION.outcome, RESOLUTION.roleARN) }];
  }));
}

function textOf(object: unknown, outcome: string, roleARN: string): string {
  return `${stringAt(object, outcome)} ${stringAt(object, roleARN)}`;
}

/** Returns `NAMESPACE/NAME`. */
function nameIn(metadata: unknown): string {
  return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}`;
}

function verdictOfError(text: string): string {
  if (/^multiple \(\d\) matching IAMRoleSelectors found/u.test(text)) return "conflict";
  if (text.startsWith("Resource already exists in account")) return "drift";
  return /configmap/u.test(text) ? "refused" : text;
}

async function verdictsOfThisProject(flags: readonly string[]): Promise<Verdicts> {
  const { stdout, stderr } = await runCommand(["resolve", "-o", "json", ...flags]);
  const resolved: unknown = JSON.parse(stdout === "" ? "null" : stdout);
  if (!Array.isArray(resolved)) throw new Error(stderr);
  return new Map(resolved.filter(isJsonObject).map((one) => {
    return [nameIn(one["resource"]), { verdict: verdictOf(one), annotated: textOf(one, "outcome", "roleARN") }];
  }));
}

function verdictOf(resolution: JsonObject): string {
  const [outcome, role] = [stringAt(resolution, "outcome") ?? "", stringAt(resolution, "roleARN") ?? ""];
  // Without a selector, controllers do not compare the account.
  if (outcome === "default") return "own";
  if (outcome !== "selected") return outcome;
  if (stringAt(resolution, "message")?.includes("Drift: ") === true) return "drift";
  const [, account = "", name = ""] = /^arn:aws:iam::(\d+):role\/(.+)$/u.exec(role) ?? [];
  return `${account}/${name}`;
}
