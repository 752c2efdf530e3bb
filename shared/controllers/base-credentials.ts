import { INJECT_LABEL, SKIP_CONTAINERS_ANNOTATION } from "../core/annotation-keys.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { type JsonObject, stringAt } from "../formats/json.ts";
import { annotationAt, objectReference } from "../formats/object-meta.ts";
import { listOf } from "../formats/text.ts";
import { FULL_URI, ROLE_ARN_VARIABLE, WEB_IDENTITY_TOKEN_FILE } from "../core/sdk-variables.ts";
import { sidecarOf } from "../core/sidecar-container.ts";
import { type Container, objectsAt, type Pod, valueOf } from "../core/pod.ts";

/** The annotation of a service account whose role EKS gives to its Pods (IRSA). */
const ROLE_ANNOTATION = "eks.amazonaws.com/role-arn";

/** What the SDK of a controller uses for the controller's own role. The texts name no secret. */
export interface BaseCredentials {
  readonly used: string;
  /** Null if the role is unknown. */
  readonly roleARN: string | null;
  /** The configured credentials that the SDK ignores, because it finds those that it uses first. */
  readonly ignored: readonly string[];
}

/** The objects that give roles to service accounts. */
export interface ServiceIdentities {
  /** The service accounts by `NAMESPACE/NAME`. */
  readonly accounts: ReadonlyMap<string, JsonObject>;
  /** The PodIdentityAssociations by the `NAMESPACE/NAME` of the service account. */
  readonly associations: ReadonlyMap<string, readonly JsonObject[]>;
}

/** Returns the objects that give roles to service accounts. */
export function serviceIdentities(objects: readonly JsonObject[]): ServiceIdentities {
  const ofKind = (wanted: string): readonly JsonObject[] => objects.filter((object) => {
    const { group, kind } = objectReference(object);
    return `${kind}.${group}` === wanted;
  });
  const associations = ofKind("PodIdentityAssociation.eks.services.k8s.aws");
  return {
    accounts: new Map(ofKind("ServiceAccount.").map((object) => [nameOf(object), object])),
    associations: Map.groupBy(associations, (object) => (
      `${stringAt(object, "spec", "namespace") ?? ""}/${stringAt(object, "spec", "serviceAccount") ?? ""}`
    )),
  };
}

function nameOf(object: JsonObject): string {
  const { namespace, name } = objectReference(object);
  return `${namespace}/${name}`;
}

interface Source {
  readonly text: string;
  readonly roleARN: string | null;
}

const NODE: Source = {
  text: "EKS Pod Identity or the role of the node, which the cluster does not show", roleARN: null,
};

interface ServiceAccount {
  /** `NAMESPACE/NAME`. */
  readonly account: string;
  readonly identities: ServiceIdentities;
}

/** Returns the credentials that the SDK of a controller uses. */
export function baseCredentials(pod: Pod, container: Container, owner: ServiceAccount): BaseCredentials {
  const [used = NODE, ...ignored] = sourcesOf(pod, container, owner);
  // Static keys in the manifest replace all other credentials.
  const doubts = used.text.startsWith(STATIC) ? [] : doubtsOf(container, owner);
  return {
    used: doubts.length === 0 ? used.text : `${used.text}, unless ${doubts.join(", or ")}`,
    roleARN: doubts.length === 0 ? used.roleARN : null, ignored: ignored.map(({ text }) => text),
  };
}

/**
 * Returns the configured credentials, first those that the SDK uses: static keys, web identity, profile, credentials
 * endpoint. Source: aws-sdk-go-v2 config/resolve_credentials.go. If the Pod has a sidecar, it uses the role of the
 * service account in place of the controller.
 */
function sourcesOf(pod: Pod, container: Container, { account, identities }: ServiceAccount): Source[] {
  const hasSidecar = sidecarOf(pod) !== null || stringAt(pod.object, "metadata", "labels", INJECT_LABEL) === "true";
  const object = identities.accounts.get(account);
  return [
    ...staticKeys(container), ...ownWebIdentity(container),
    ...(object === undefined || (isSkipped(pod, container) && !hasSidecar) ? [] : roleOfAccount(object)),
    ...profile(container), ...(hasSidecar ? [] : endpoint(container)),
  ];
}

/** Returns why the SDK may find other credentials, or []. */
function doubtsOf(container: Container, { account, identities }: ServiceAccount): string[] {
  // EKS prefers an association to the annotation. The object may describe an association of another cluster.
  const associations = (identities.associations.get(account) ?? []).map(nameOf);
  return [
    ...(objectsAt(container.object, "envFrom").length > 0 ? ["envFrom sets static keys"] : []),
    ...(identities.accounts.has(account) ? [] : [`service account ${account}, which was not read, has a role`]),
    ...(associations.length > 0 ? [`PodIdentityAssociation ${listOf(associations)} is of this cluster`] : []),
  ];
}

const STATIC = "static keys";

/** Returns the first of the variables that is set, perhaps from another object. SDKs ignore an empty variable. */
function firstSet(container: Container, names: readonly string[]): string | undefined {
  return names.find((name) => {
    const value = valueOf(container, name);
    return value !== undefined && value !== "";
  });
}

function staticKeys(container: Container): Source[] {
  const id = firstSet(container, ["AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"]);
  const hasSecret = firstSet(container, ["AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"]) !== undefined;
  return id === undefined || !hasSecret ? [] : [{ text: `${STATIC} in ${id}`, roleARN: null }];
}

/** Returns the web identity that the manifest itself configures. */
function ownWebIdentity(container: Container): Source[] {
  if (firstSet(container, [WEB_IDENTITY_TOKEN_FILE]) === undefined) return [];
  const roleARN = roleIn(valueOf(container, ROLE_ARN_VARIABLE) ?? "");
  return [{ text: `the web identity in ${WEB_IDENTITY_TOKEN_FILE}`, roleARN }];
}

function roleOfAccount(object: JsonObject): Source[] {
  const role = annotationAt(object, ROLE_ANNOTATION) ?? "";
  if (role === "") return [];
  return [{ text: `the role of service account ${nameOf(object)} (${ROLE_ANNOTATION})`, roleARN: roleIn(role) }];
}

function roleIn(text: string): string | null {
  return parseRoleARN(text) === null ? null : text;
}

/** Whether the identity webhook of EKS adds nothing to the container. It reads the first line of the annotation. */
function isSkipped({ object }: Pod, { name }: Container): boolean {
  const [line = ""] = (annotationAt(object, SKIP_CONTAINERS_ANNOTATION) ?? "").split("\n", 1);
  return line.split(",").includes(name);
}

function profile(container: Container): Source[] {
  const name = firstSet(container, [
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_PROFILE", "AWS_DEFAULT_PROFILE",
  ]);
  return name === undefined ? [] : [{ text: `the profile in ${name}`, roleARN: null }];
}

function endpoint(container: Container): Source[] {
  const name = firstSet(container, ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", FULL_URI]);
  return name === undefined ? [] : [{ text: `the endpoint in ${name}`, roleARN: null }];
}

/** Returns the `NAMESPACE/NAME` of the service account of a Pod. */
export function serviceAccountOf({ object }: Pod, namespace: string): string {
  const names = ["serviceAccountName", "serviceAccount"].flatMap((key) => stringAt(object, "spec", key) ?? []);
  const [name = "default"] = names;
  return `${namespace}/${name}`;
}
