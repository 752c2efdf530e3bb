import type { JsonObject } from "../kubernetes/json.ts";
import { compareText } from "../kubernetes/text.ts";
import { LIMITS } from "../limits.ts";
import type { Problem } from "./problem.ts";

// Reports of OpenReports: https://github.com/openreports/reports-api, apis/openreports.io/v1alpha1.

const SOURCE = "ack-role-resolver";
const API_VERSION = "openreports.io/v1alpha1";
/** The reasons of problems that prevent no controller from managing the object in the intended account. */
const WARNINGS: ReadonlySet<string> = new Set([
  "DefaultIdentity", "DefaultRole", "SelectorsOverlap", "UnknownACKGroup",
]);

/** The problems of the objects in one namespace, or of all cluster-scoped objects. */
interface Collected {
  readonly results: JsonObject[];
  fail: number;
  warn: number;
}

/** Collects the problems that one scan found, and returns one report for each namespace. */
export class ProblemCollector {
  readonly #namespaces = new Map<string, Collected>();

  add({ subject, reason, note }: Problem): void {
    const { apiVersion, kind, namespace, name, uid } = subject;
    const collected = this.#namespaces.get(namespace) ?? { results: [], fail: 0, warn: 0 };
    this.#namespaces.set(namespace, collected);
    const result = WARNINGS.has(reason) ? "warn" : "fail";
    collected[result] += 1;
    if (collected.results.length >= LIMITS.reportResults.value) return;
    collected.results.push({
      policy: reason, result, message: note,
      resources: [{ apiVersion, kind, name, ...(namespace !== "" && { namespace }), ...(uid !== null && { uid }) }],
    });
  }

  /** Returns the report of each namespace that has problems, by namespace. The namespace "" is the whole cluster. */
  reports(): ReadonlyMap<string, JsonObject> {
    const namespaces = [...this.#namespaces];
    return new Map(namespaces.map(([namespace, collected]) => [namespace, reportOf(namespace, collected)]));
  }
}

/** Returns the report. The order of its results does not depend on the order of the scan. */
function reportOf(namespace: string, { results, fail, warn }: Collected): JsonObject {
  return {
    apiVersion: API_VERSION, kind: namespace === "" ? "ClusterReport" : "Report",
    metadata: {
      name: REPORT_NAME, ...(namespace !== "" && { namespace }), labels: { "app.kubernetes.io/managed-by": SOURCE },
    },
    source: SOURCE,
    configuration: { limits: { maxResults: LIMITS.reportResults.value } },
    summary: { pass: 0, fail, warn, error: 0, skip: 0 },
    results: results.toSorted((a, b) => compareText(JSON.stringify(a), JSON.stringify(b))),
  };
}

/** The name of each report. */
export const REPORT_NAME = SOURCE;
