import { readFileSync, writeFileSync } from "node:fs";
import { env } from "node:process";
import { field, isJsonObject, type JsonObject, type PatchOperation } from "../../shared/formats/json.ts";

/** Returns a review as the API server sends it. Each call parses the file again. */
export function fixture(name: string): { readonly request: Record<string, unknown> } & Record<string, unknown> {
  return JSON.parse(fixtureText(name));
}

export function fixtureText(name: string): string {
  return readFileSync(new URL(`../fixtures/admission/${name}.json`, import.meta.url), "utf8");
}

/**
 * Returns the expected response body from test/golden/webhook. After an intended change of a message, rewrite the files
 * with `UPDATE_GOLDEN=1 node FILE` for test/webhook/{golden,namespaces,configmaps}.test.ts, and review the diff. CI
 * never writes.
 */
export function golden(name: string, actual: string): string {
  const file = new URL(`../golden/webhook/${name}.json`, import.meta.url);
  if (env["UPDATE_GOLDEN"] === "1" && env["CI"] !== "true") writeFileSync(file, `${actual}\n`);
  return readFileSync(file, "utf8").trimEnd();
}

/** Returns the JSON patch of a response, or null if the response has no patch. */
export function patchOf(review: unknown): PatchOperation[] | null {
  const patch = field(field(review, "response"), "patch");
  return typeof patch === "string" ? JSON.parse(Buffer.from(patch, "base64").toString()) : null;
}

/** Returns the object at `path`, or {} if no object exists at `path`. */
export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  const found = path.reduce<unknown>(field, value);
  return isJsonObject(found) ? found : {};
}

/** Returns a review of the creation of `object`. The fields in `request` override the fields of the request. */
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
