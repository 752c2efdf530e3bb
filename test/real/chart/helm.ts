import path from "node:path";
import { type Test, test } from "tap";
import { parseAllDocuments } from "yaml";
import { isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { type ProgramResult, runProgram } from "../../programs/run-program.ts";
import { RENDERERS } from "../../programs/renderers.ts";
import { findPrograms } from "../find-programs.ts";

export const CHART = path.join(import.meta.dirname, "../../../manifests/chart");
export const RELEASE = "ack-role-resolver";
export const NAMESPACE = "ack-role-resolver";
export const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/ack-role-resolver-webhook`;

const HELM_LIMIT_MS = 2 * 60_000;

/** Runs helm with arguments. Resolves when helm exits with any exit code. */
export type Helm = (args: readonly string[], kubeconfig?: string) => Promise<ProgramResult>;

/**
 * Returns a function that runs helm with a home folder for this test. Skips the test and returns null if helm is not
 * built.
 */
export async function findHelm(t: Test): Promise<Helm | null> {
  const folders = await findPrograms(t, RENDERERS);
  if (folders === null) return null;
  const home = t.testdir({});
  return async (args, kubeconfig = path.join(home, "no-cluster")) => (
    await runProgram(path.join(folders[0], "helm"), args, {
      cwd: home, env: { HOME: home, KUBECONFIG: kubeconfig }, signal: AbortSignal.timeout(HELM_LIMIT_MS),
    })
  );
}

/** Registers a test that runs `body` with helm. */
export function withHelm(name: string, body: (t: Test, helm: Helm) => Promise<void>): void {
  test(name, async (t) => {
    const helm = await findHelm(t);
    if (helm !== null) await body(t, helm);
  });
}

/**
 * Runs `helm template` with values. Sets the Kubernetes version, because a helm that `go build` built assumes version
 * 1.20.
 */
export async function template(helm: Helm, values: readonly string[] = []): Promise<ProgramResult> {
  const sets = values.flatMap((value) => ["--set", value]);
  return await helm(["template", RELEASE, CHART, "--namespace", NAMESPACE, "--kube-version", "1.30.0", ...sets]);
}

/** Returns the objects in multi-document YAML. */
export function objectsIn(yaml: string): readonly JsonObject[] {
  return parseAllDocuments(yaml).map((document): unknown => document.toJS()).filter(isJsonObject);
}
