import { STS_AUDIENCE } from "../core/session.ts";
import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { type Container, type Mount, objectsAt, type Pod, valueOf, type Variable, type Volume } from "../core/pod.ts";
import { FULL_URI, ROLE_ARN_VARIABLE, TOKEN_FILE, WEB_IDENTITY_TOKEN_FILE } from "../core/sdk-variables.ts";

// The identity webhook of EKS adds credentials to each container that the annotation `skip-containers` does not name.
// If it runs before the sidecar is injected, it adds the credentials to the controller. Sources of all names:
// aws/amazon-eks-pod-identity-webhook 3bf80a3, pkg/handler/handler.go and pkg/containercredentials;
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html

const WEB_IDENTITY_VOLUME = "aws-iam-token";
const POD_IDENTITY_VOLUME = "eks-pod-identity-token";
const EKS_VOLUMES: ReadonlySet<string> = new Set([WEB_IDENTITY_VOLUME, POD_IDENTITY_VOLUME]);
/** The addresses of the agent of EKS Pod Identity. */
const POD_IDENTITY_URI = /^http:\/\/(169\.254\.170\.23|\[fd00:ec2::23\])\/v1\/credentials$/;
const AWS_AUDIENCES: ReadonlySet<string | null> = new Set([STS_AUDIENCE, "pods.eks.amazonaws.com"]);
/** The variables that the identity webhook of EKS adds together with an identity. */
const REGION_VARIABLES: ReadonlySet<string> = new Set(["AWS_REGION", "AWS_DEFAULT_REGION"]);
const STS_VARIABLE = "AWS_STS_REGIONAL_ENDPOINTS";

/** What the identity webhook of EKS added to a container. */
interface EKSIdentity {
  readonly env: readonly Variable[];
  readonly mounts: readonly Mount[];
}

/** Returns the variables and mounts that the identity webhook of EKS added to a container. */
export function eksIdentityOf(container: Container): EKSIdentity {
  const mounts = container.mounts.filter(isIdentityMount);
  const file = valueOf(container, WEB_IDENTITY_TOKEN_FILE) ?? "";
  const names = new Set([
    ...(isFileOf(mounts, WEB_IDENTITY_VOLUME, file) ? [ROLE_ARN_VARIABLE, WEB_IDENTITY_TOKEN_FILE] : []),
    ...(POD_IDENTITY_URI.test(valueOf(container, FULL_URI) ?? "") ? [FULL_URI, TOKEN_FILE] : []),
  ]);
  return { env: container.env.filter(({ name, entry }) => names.has(name) && isSmall(entry)), mounts };
}

/** The folders in which the identity webhook of EKS mounts tokens are in this folder. */
const SECRETS_DIR = "/var/run/secrets/";

/** Whether the mount is one of EKS. At another path, a volume of that name could replace the program of the sidecar. */
function isIdentityMount({ volume, mountPath, entry }: Mount): boolean {
  const isInSecrets = mountPath.startsWith(SECRETS_DIR) && !mountPath.includes("..");
  return EKS_VOLUMES.has(volume) && isInSecrets && isSmall(entry);
}

function isFileOf(mounts: readonly Mount[], volume: string, file: string): boolean {
  return mounts.some((mount) => mount.volume === volume && file.startsWith(`${mount.mountPath}/`));
}

/** Whether a volume contains a token with which a container can assume a role without the sidecar. */
function isIdentityVolume({ name, entry }: Volume): boolean {
  return EKS_VOLUMES.has(name) || objectsAt(field(entry, "projected"), "sources").some((source) => (
    AWS_AUDIENCES.has(stringAt(source, "serviceAccountToken", "audience"))
  ));
}

/** Returns the names of the volumes of a Pod that contain a token for AWS. */
export function identityVolumes({ volumes }: Pod): ReadonlySet<string> {
  return new Set(volumes.filter(isIdentityVolume).map(({ name }) => name));
}

/**
 * Returns the region variables of one container that the other container lacks. The identity webhook of EKS adds these
 * variables only to containers that it does not skip, and only if the container has no region.
 */
export function missingRegion(
  from: readonly Variable[], to: readonly Variable[],
): readonly JsonObject[] {
  const names = new Set(to.map(({ name }) => name));
  const hasRegion = [...REGION_VARIABLES].some((name) => names.has(name));
  return from.filter((variable) => isPortable(variable) && (
    REGION_VARIABLES.has(variable.name) ? !hasRegion : variable.name === STS_VARIABLE && !names.has(STS_VARIABLE)
  )).map(({ entry }) => entry);
}

/** Whether the injection copies a variable of this name between the controller and the sidecar. */
export function isSharedVariable({ name }: Variable): boolean {
  return REGION_VARIABLES.has(name) || name === STS_VARIABLE;
}

/** Whether a variable has the same value in another container: the value refers to no other variable. */
function isPortable({ value, entry }: Variable): boolean {
  return isSmall(entry) && (value === null || (value !== "" && !value.includes("$(")));
}

/** The maximum length of a copied variable or mount as JSON, because the patch contains the copy. */
const MAX_COPIED_LENGTH = 4_096;

function isSmall(entry: JsonObject): boolean {
  return JSON.stringify(entry).length <= MAX_COPIED_LENGTH;
}
