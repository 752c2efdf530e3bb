import type { JsonObject } from "../../shared/formats/json.ts";

interface ManagerParts {
  readonly map?: "f:data" | "f:stringData";
  readonly time?: string;
}

/** Returns an entry of `managedFields`: the manager owns the keys of a Secret. */
export function managedBy(manager: string, keys: readonly string[], parts: ManagerParts = {}): JsonObject {
  const { map = "f:data", time = "2026-01-01T00:00:00Z" } = parts;
  const owned: JsonObject = { ".": {}, ...Object.fromEntries(keys.map((key) => [`f:${key}`, {}] as const)) };
  return { manager, operation: "Update", apiVersion: "v1", time, fieldsV1: { [map]: owned, "f:type": {} } };
}

/** Returns the metadata of the Secret capa-system/s-creds, as the API server sends it. */
export function secretMetadata(managedFields: unknown, metadata: JsonObject = {}): JsonObject {
  const own = { name: "s-creds", namespace: "capa-system", ...metadata };
  return { apiVersion: "v1", kind: "Secret", metadata: managedFields === undefined ? own : { ...own, managedFields } };
}

/** Returns Secrets in capa-system, and the ConfigMap in which sidecars have recorded their accounts. */
export function recordedAccounts(accounts: Readonly<Record<string, string>>): JsonObject[] {
  const entries = Object.entries(accounts);
  const secrets = entries.map(([name]) => secretMetadata([], { name, uid: `uid-${name}`, resourceVersion: "7" }));
  const data = Object.fromEntries(entries.map(([name, id]) => [name, `${id} as of uid-${name}/7`]));
  const metadata = { name: "ack-role-resolver-identity-accounts", namespace: "capa-system" };
  return [...secrets, { apiVersion: "v1", kind: "ConfigMap", metadata, data }];
}
