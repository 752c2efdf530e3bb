import { test } from "tap";
import { controllerPod } from "../../fixtures/pods.ts";
import { injected } from "../core/injected.ts";
import { type Fields, lines, withVariables } from "./pod-lines.ts";

const PROFILE_FIX = "Remove the variable; with a chart of ACK, remove aws.credentials.secretName.";
const KEYS_FIX = "Remove the variable, and give the role to the service account of the Pod, for the sidecar.";

test("POD-06 denies other credentials of the controller, and never quotes their values", async (t) => {
  const found = (name: string, fix: string): string => (
    `POD-06 spec.containers[0].env[1]: the SDK of the controller would use ${name} and not the sidecar. ${fix}`
  );
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]) {
    t.same(lines(withVariables({ name, value: "SECRET" })), [found(name, KEYS_FIX)]);
  }
  for (const name of [
    "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CREDENTIAL_FILE", "BOTO_CONFIG",
  ]) {
    t.same(lines(withVariables({ name, value: "SECRET" })), [found(name, PROFILE_FIX)]);
    t.same(lines(withVariables({ name, value: "" })), [], "SDKs ignore an empty variable");
  }
  const valueFrom = { secretKeyRef: { name: "a", key: "b" } };
  t.same(lines(withVariables({ name: "AWS_PROFILE", valueFrom })), [found("AWS_PROFILE", PROFILE_FIX)]);
  t.match(lines(withVariables({ name: "AWS_ROLE_ARN", value: "arn" })), [/Remove the variable; the sidecar uses/]);
  t.same(lines(withVariables({ name: "AWS_BEARER_TOKEN_BEDROCK", value: "SECRET" })), [
    found("AWS_BEARER_TOKEN_BEDROCK", "Remove the variable; the sidecar issues the credentials of the role."),
  ]);
});

test("POD-06 denies a mounted profile and a mounted web identity token", async (t) => {
  const mounted = (volume: Fields, mountPath: string, mount: Fields = {}): readonly string[] => (
    lines(injected(controllerPod({
      controller: { volumeMounts: [{ name: "v", mountPath, ...mount }] }, spec: { volumes: [{ name: "v", ...volume }] },
    })))
  );
  t.same(mounted({ emptyDir: {} }, "/data"), []);
  t.same(mounted({ secret: { secretName: "profile" } }, "/home/nonroot/.aws"), [
    "POD-06 spec.containers[0].volumeMounts[0]: the SDK of the controller would use a profile in "
      + '"/home/nonroot/.aws" and not the sidecar. Remove the mount.',
  ]);
  const items = [{ key: "a", path: "a" }, { key: "credentials", path: ".aws/credentials" }];
  const secret = { secretName: "profile", items };
  const inHome = [
    "POD-06 spec.containers[0].volumeMounts[0]: the SDK of the controller would use a profile in "
      + '"/home/nonroot/.aws/credentials" and not the sidecar. Remove the mount.',
  ];
  for (const volume of [{ secret }, { configMap: { items } }, { projected: { sources: [{ secret }] } }]) {
    t.same(mounted(volume, "/home/nonroot"), inHome);
  }
  t.same(mounted({ secret: { items: items.slice(0, 1) } }, "/home/nonroot"), []);
  t.same(mounted({ secret }, "/home/nonroot", { subPath: "a" }), []);
  const token = (audience: string): Fields => (
    { projected: { sources: [{ serviceAccountToken: { audience } }, "x"] } }
  );
  t.same(mounted(token("vault"), "/token"), []);
  t.same(mounted(token("sts.amazonaws.com"), "/token"), [
    'POD-06 spec.containers[0].volumeMounts[0]: the volume "v" contains a token with which the controller can bypass '
      + "the sidecar. Mount the volume only in the sidecar.",
  ]);
});

test("POD-07 denies envFrom that can contain AWS credentials", async (t) => {
  const withSource = (prefix: Fields): readonly string[] => lines(injected(controllerPod({
    controller: { envFrom: [{ secretRef: { name: "settings" }, ...prefix }] },
  })));
  const fix = "List the variables in env, or set a prefix in envFrom with which no name of an AWS variable starts, "
    + "such as APP_.";
  t.same(withSource({}), [
    "POD-07 spec.containers[0].envFrom[0]: envFrom can set AWS_ACCESS_KEY_ID and other variables that SDKs prefer to "
      + `the sidecar. ${fix}`,
  ]);
  t.equal(withSource({ prefix: "AWS_P" }).length, 1);
  t.same(withSource({ prefix: "APP_" }), []);
});

test("POD-08 denies the network of the node", async (t) => {
  t.same(lines(injected(controllerPod({ spec: { hostNetwork: true } }))), [
    "POD-08 spec.hostNetwork: the Pod uses the network of the node, so the sidecar is not alone. "
      + "Set hostNetwork to false; with a chart of ACK, remove deployment.hostNetwork.",
  ]);
});
