import { field, isJsonObject, type JsonObject, stringAt } from "../../decisions/kubernetes/json.ts";
import { isSelector } from "../../decisions/kubernetes/kinds.ts";
import { objectMeta } from "../../decisions/kubernetes/object-meta.ts";
import { quote } from "../../decisions/kubernetes/text.ts";
import type { InputFault, Manifest } from "./reader.ts";

/** What a namespaced object without a namespace is created in. */
const DEFAULT_NAMESPACE = "default";

/** `KIND.GROUP` of kinds that have no namespace, whatever an object says. Any other counts as namespaced. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  "IAMRoleSelector.services.k8s.aws",
  "Namespace.",
  "CustomResourceDefinition.apiextensions.k8s.io",
  "ClusterRole.rbac.authorization.k8s.io",
  "ClusterRoleBinding.rbac.authorization.k8s.io",
  "MutatingWebhookConfiguration.admissionregistration.k8s.io",
  "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
  "AWSClusterControllerIdentity.infrastructure.cluster.x-k8s.io",
  "AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io",
  "AWSClusterStaticIdentity.infrastructure.cluster.x-k8s.io",
]);

/** What makes two manifests one object: group, kind, namespace and name. */
export interface ObjectIdentity {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Null for an object without a name, which the API server would give one. */
export function identityOf(object: JsonObject): ObjectIdentity | null {
  const { group, kind, namespace, name } = objectMeta(object);
  if (name === "") return null;
  if (CLUSTER_SCOPED.has(`${kind}.${group}`)) return { group, kind, namespace: "", name };
  return { group, kind, namespace: namespace === "" ? DEFAULT_NAMESPACE : namespace, name };
}

export function identityKey({ group, kind, namespace, name }: ObjectIdentity): string {
  return JSON.stringify([group, kind, namespace, name]);
}

/** A fault for each object that stands in the input more than once, at the later place and naming the first. */
export function duplicateFaults(manifests: readonly Manifest[]): InputFault[] {
  const first = new Map<string, Manifest>();
  const faults: InputFault[] = [];
  for (const manifest of manifests) {
    const identity = identityOf(manifest.object);
    if (identity === null) continue;
    const key = identityKey(identity);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, manifest);
    else faults.push(duplicateFault(manifest, earlier, identity));
  }
  return faults;
}

function duplicateFault(manifest: Manifest, earlier: Manifest, { kind, namespace, name }: ObjectIdentity): InputFault {
  const where = namespace === "" ? "" : ` in namespace ${namespace}`;
  const message = `${kind} ${quote(name)}${where} stands in the input twice, first at ${earlier.file}:${earlier.lineOf([]) ?? 1}; remove one of them`;
  return { file: manifest.file, line: manifest.lineOf([]), message };
}

/** k8s.io/apiserver pkg/storage/names/generate.go: five characters after at most 58 of the prefix, none of them a 0, 1 or 3. */
const PREFIX_LENGTH = 58;
const SUFFIX_LENGTH = 5;

/**
 * The same manifests, in which each IAMRoleSelector with a `generateName` and no name has one such as the API server would generate,
 * `GENERATENAME00001` and so on, which it never does. Each would be a selector of its own, and selectors are known by their names.
 */
export function withGeneratedNames(manifests: readonly Manifest[]): Manifest[] {
  let count = 0;
  return manifests.map((manifest) => {
    const { object } = manifest;
    const metadata = field(object, "metadata");
    const prefix = stringAt(metadata, "generateName") ?? "";
    if (!isSelector(object) || !isJsonObject(metadata) || prefix === "" || (field(metadata, "name") ?? "") !== "") return manifest;
    count += 1;
    const name = prefix.slice(0, PREFIX_LENGTH) + String(count).padStart(SUFFIX_LENGTH, "0");
    return { ...manifest, object: { ...object, metadata: { ...metadata, name } } };
  });
}
