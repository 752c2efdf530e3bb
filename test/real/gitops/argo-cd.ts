import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { parse } from "yaml";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ARGO_CD, argoCDIn } from "../../programs/argo-cd.ts";
import { runProgram } from "../../programs/run-program.ts";
import { findPrograms } from "../find-programs.ts";

const FOLDER = path.join(import.meta.dirname, "../../../manifests/gitops");
const LIMIT_MS = 60_000;

/** What Argo CD does with an object. */
export interface Answer {
  readonly wave: number;
  /** Whether Argo CD never applies the kind. */
  readonly excluded: boolean;
  /** The object in the cluster and the one that an apply would make of it; absent if they do not differ. */
  readonly live?: JsonObject;
  readonly predicted?: JsonObject;
  readonly health?: { readonly status: string; readonly message?: string };
}

/** An object in Git, and the one in the cluster. */
export interface Managed {
  readonly target: JsonObject;
  readonly live: JsonObject;
}

/** Asks Argo CD about objects, with the Application and the customizations of manifests/gitops. */
export type ArgoCD = (objects: readonly Managed[], application?: string) => Promise<readonly Answer[]>;

export async function readGitOps(name: string): Promise<string> {
  return await readFile(path.join(FOLDER, name), "utf8");
}

/** Asks Flux. */
interface Flux {
  /** Returns why Flux cannot read the text of an object, or an empty text. */
  readonly faultOf: (text: string) => Promise<string>;
  /** Returns what the drift detection finds in a release of Helm, such as `Deployment a: /spec/replicas`. */
  readonly driftOf: (release: HelmRelease) => Promise<readonly unknown[]>;
}

interface HelmRelease {
  readonly kubeconfig: string;
  readonly name: string;
  readonly namespace: string;
  /** The output of `helm get manifest`. */
  readonly manifest: string;
}

/** Skips the test and returns null if the program is not built. */
export async function findFlux(t: Test): Promise<Flux | null> {
  const folders = await findPrograms(t, ARGO_CD);
  if (folders === null) return null;
  const answerTo = async (query: object): Promise<unknown> => {
    const [line = "{}"] = await ask(folders[0], [query]);
    return JSON.parse(line);
  };
  return {
    faultOf: async (text) => stringAt(await answerTo({ flux: text }), "fault") ?? "",
    driftOf: async (release) => {
      const drift = field(await answerTo({ release }), "drift");
      if (!Array.isArray(drift)) throw new Error("Flux has not compared the release");
      return drift;
    },
  };
}

/** Skips the test and returns null if the program is not built. */
export async function findArgoCD(t: Test): Promise<ArgoCD | null> {
  const folders = await findPrograms(t, ARGO_CD);
  if (folders === null) return null;
  const data = field(parse(await readGitOps("argocd-cm.yaml")), "data");
  const customizations = stringAt(data, "resource.customizations");
  const ofProject = await readGitOps("argocd-application.yaml");
  return async (objects, application = ofProject) => {
    const answers = await ask(folders[0], objects.map((one) => ({ application, customizations, ...one })));
    return answers.map((line): Answer => JSON.parse(line));
  };
}

/** Returns the answer to each query, as JSON. */
async function ask(folder: string, queries: readonly object[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await runProgram(argoCDIn(folder), [], {
    cwd: FOLDER, input: queries.map((one) => JSON.stringify(one)).join("\n"), signal: AbortSignal.timeout(LIMIT_MS),
  });
  if (code !== 0) throw new Error(`argo-cd exited with ${code}: ${stderr}`);
  return stdout.trim().split("\n");
}

/** Returns the values in the Application. */
export function valuesOf(application: string): JsonObject {
  const source = field(field(parse(application), "spec"), "source");
  const values = field(field(source, "helm"), "valuesObject");
  if (!isJsonObject(values)) throw new Error("the Application has no values");
  return values;
}
