import { readFileSync } from "node:fs";
import { field, isJsonObject, type JsonObject, type PatchOperation } from "../../shared/decisions/kubernetes/json.ts";

/** A review as the API server sends it, parsed anew for each caller. */
export function fixture(name: string): { readonly request: Record<string, unknown> } & Record<string, unknown> {
  return JSON.parse(fixtureText(name));
}

export function fixtureText(name: string): string {
  return readFileSync(new URL(`../fixtures/admission/${name}.json`, import.meta.url), "utf8");
}

/** The whole answer that a fixture must get, byte for byte but for the line end of the file. */
export function golden(name: string): string {
  return readFileSync(new URL(`../golden/webhook/${name}.json`, import.meta.url), "utf8").trimEnd();
}

/** The JSON patch of an answer, or null where it holds none. */
export function patchOf(answer: unknown): PatchOperation[] | null {
  const patch = field(field(answer, "response"), "patch");
  return typeof patch === "string" ? JSON.parse(Buffer.from(patch, "base64").toString()) : null;
}

/** The object at `path`, {} where there is none. */
export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  const found = path.reduce<unknown>(field, value);
  return isJsonObject(found) ? found : {};
}

/** A review of `object`, of the type that it says itself. */
export function reviewOf(object: JsonObject, request: JsonObject = {}): JsonObject {
  const apiVersion = String(object["apiVersion"]);
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const metadata = objectAt(object, "metadata");
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u-1",
      kind: { group, version, kind: object["kind"] },
      operation: "CREATE",
      name: metadata["name"] ?? "",
      namespace: metadata["namespace"] ?? "",
      userInfo: { username: "alice@example.com", groups: [] },
      object,
      oldObject: null,
      dryRun: false,
      ...request,
    },
  };
}
