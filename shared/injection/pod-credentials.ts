import { field } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { ROLE_ARN_VARIABLE, WEB_IDENTITY_TOKEN_FILE } from "../core/sdk-variables.ts";
import { identityVolumes } from "./pod-identity.ts";
import { type Container, containerPath, objectsAt, type Pod, textAt } from "../core/pod.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { by, remove, set } from "../core/repair.ts";
import type { PodCreation } from "./pod-request.ts";

const STATIC_KEYS = "remove the variable, and give the role to the service account of the Pod, for the sidecar";
const PROFILE = "remove the variable; with a chart of ACK, remove aws.credentials.secretName";
const WEB_IDENTITY = "remove the variable; the sidecar uses the web identity of the service account";

/**
 * The variables with which an SDK finds credentials before those of the sidecar, and the fix of each. Sources: the
 * default credential chains of the AWS SDKs for Go, Python, JavaScript, Java and Rust.
 */
const OTHER_CREDENTIALS: ReadonlyMap<string, string> = new Map([
  ["AWS_ACCESS_KEY_ID", STATIC_KEYS], ["AWS_SECRET_ACCESS_KEY", STATIC_KEYS], ["AWS_SESSION_TOKEN", STATIC_KEYS],
  ["AWS_ACCESS_KEY", STATIC_KEYS], ["AWS_SECRET_KEY", STATIC_KEYS],
  ["AWS_PROFILE", PROFILE], ["AWS_DEFAULT_PROFILE", PROFILE], ["AWS_CONFIG_FILE", PROFILE],
  ["AWS_SHARED_CREDENTIALS_FILE", PROFILE], ["AWS_CREDENTIAL_PROFILES_FILE", PROFILE],
  // Only the SDK for Python: botocore 1.44.5, OriginalEC2Provider and BotoProvider in credentials.py.
  ["AWS_CREDENTIAL_FILE", PROFILE], ["BOTO_CONFIG", PROFILE],
  // An API key, which SDKs prefer to all credentials: aws-sdk-go-v2 service/bedrock v1.63.0, resolveEnvBearerToken.
  ["AWS_BEARER_TOKEN_BEDROCK", "remove the variable; the sidecar issues the credentials of the role"],
  [ROLE_ARN_VARIABLE, WEB_IDENTITY], [WEB_IDENTITY_TOKEN_FILE, WEB_IDENTITY],
  // SDKs prefer the relative URI to the URI of the sidecar, and the SDK for Java prefers the token to the token file.
  ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "remove the variable"],
  ["AWS_CONTAINER_AUTHORIZATION_TOKEN", "remove the variable; the token of the sidecar is in a file"],
]);

export const POD_06: QuickCheck<PodCreation> = {
  id: "POD-06",
  severity: "deny",
  reason: "SDKs prefer static keys, profiles and web identities to the sidecar. The controller would use these "
    + "credentials for all resources.",
  fix: "remove the credentials from the controller's container",
  example: "spec: {containers: [{name: controller, env: [{name: AWS_PROFILE, value: default}]}]}",
  *find({ pod, controllers }): Iterable<Fault> {
    const volumes = { identities: identityVolumes(pod), profiles: profilesOf(pod) };
    for (const controller of controllers) {
      yield* variableFaults(controller);
      yield* mountFaults(controller, volumes);
    }
  },
};

/** The messages do not contain the values, which can be secrets. SDKs ignore an empty variable. */
function* variableFaults(controller: Container): Iterable<Fault> {
  for (const [index, { name, value }] of controller.env.entries()) {
    const fix = OTHER_CREDENTIALS.get(name);
    if (fix === undefined || value === "") continue;
    const message = `the SDK of the controller would use ${name} and not the sidecar`;
    const path = containerPath(controller, "env", index);
    yield { path, message, fix, repairs: by(remove(path)) };
  }
}

/** Matches a path of the folder `.aws`, or of a file or folder in it. */
const PROFILE_PATH = /(^|\/)\.aws(\/|$)/;

/** Returns the first file in a folder `.aws` of each volume that writes files of Secrets and ConfigMaps to paths. */
function profilesOf({ volumes }: Pod): ReadonlyMap<string, string> {
  return new Map(volumes.flatMap(({ name, entry }) => {
    const sources = [entry, ...objectsAt(field(entry, "projected"), "sources")];
    const files = sources.flatMap((one) => [field(one, "secret"), field(one, "configMap")]);
    const items = files.flatMap((one) => objectsAt(one, "items"));
    const file = items.map((item) => textAt(item, "path")).find((path) => PROFILE_PATH.test(path));
    return file === undefined ? [] : [[name, file] as const];
  }));
}

/** The names of the volumes that contain a token for AWS, and the profile in each volume that contains one. */
interface CredentialVolumes {
  readonly identities: ReadonlySet<string>;
  readonly profiles: ReadonlyMap<string, string>;
}

function* mountFaults(controller: Container, { identities, profiles }: CredentialVolumes): Iterable<Fault> {
  for (const [index, { volume, mountPath, entry }] of controller.mounts.entries()) {
    const path = containerPath(controller, "volumeMounts", index);
    // With a subPath, the mount contains only this file or folder of the volume.
    const file = textAt(entry, "subPath") === "" ? profiles.get(volume) ?? "" : "";
    if (identities.has(volume)) {
      const message = `the volume ${quote(volume)} contains a token with which the controller can bypass the sidecar`;
      yield { path, message, fix: "mount the volume only in the sidecar", repairs: by(remove(path)) };
    } else if (PROFILE_PATH.test(mountPath) || file !== "") {
      const where = quote(file === "" ? mountPath : `${mountPath}/${file}`);
      const message = `the SDK of the controller would use a profile in ${where} and not the sidecar`;
      yield { path, message, fix: "remove the mount", repairs: by(remove(path)) };
    }
  }
}

export const POD_07: QuickCheck<PodCreation> = {
  id: "POD-07",
  severity: "deny",
  reason: "The webhook does not read Secrets and ConfigMaps, so their variables could be AWS credentials.",
  fix: "list the variables in env, or set a prefix in envFrom with which no name of an AWS variable starts, such as "
    + "APP_",
  example: "spec: {containers: [{name: controller, envFrom: [{secretRef: {name: settings}}]}]}",
  *find({ controllers }): Iterable<Fault> {
    for (const controller of controllers) {
      for (const [index, source] of objectsAt(controller.object, "envFrom").entries()) {
        const prefix = textAt(source, "prefix");
        const name = [...OTHER_CREDENTIALS.keys()].find((one) => one.startsWith(prefix));
        if (name === undefined) continue;
        const message = `envFrom can set ${name} and other variables that SDKs prefer to the sidecar`;
        const path = containerPath(controller, "envFrom", index);
        const repairs = [{ when: "if the controller does not need its variables", edits: [remove(path)] }];
        yield { path, message, fix: POD_07.fix, repairs };
      }
    }
  },
};

export const POD_08: QuickCheck<PodCreation> = {
  id: "POD-08",
  severity: "deny",
  reason: "In the network of the node, other programs can reach the sidecar, and the controller the instance metadata.",
  fix: "set hostNetwork to false; with a chart of ACK, remove deployment.hostNetwork",
  example: "spec: {hostNetwork: true}",
  *find({ pod, controllers }): Iterable<Fault> {
    if (controllers.length === 0 || !pod.hostNetwork) return;
    const message = "the Pod uses the network of the node, so the sidecar is not alone";
    const path = ["spec", "hostNetwork"];
    yield { path, message, fix: POD_08.fix, repairs: by(set(path, false)) };
  },
};
