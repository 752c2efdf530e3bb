import { type Test, test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import {
  controllerIdentity, INFRASTRUCTURE, refTo, roleIdentity, staticIdentity,
} from "../../shared/capa-objects.ts";
import { namespaceObject } from "../../shared/objects.ts";
import { SECOND } from "../fake-sts.ts";
import { type SecretData, secretData } from "../identities/secret-server.ts";
import { SidecarUnderTest } from "../sidecar-under-test.ts";

const KEY = secretData({ AccessKeyID: "AKIAPLANTED", SecretAccessKey: "planted-secret" });

/** Returns the path of an identity in the form of `refTo`, such as `role/a`. */
function pathOf(reference: string, namespace = "team-a"): string {
  const { kind, name } = refTo(reference);
  return `/v1/credentials/identities/${kind}/${name}?namespace=${namespace}`;
}

async function started(
  objects: readonly JsonObject[], secrets: Readonly<Record<string, SecretData>> = {},
): Promise<SidecarUnderTest> {
  const all = [namespaceObject("team-a"), controllerIdentity(), ...objects];
  const sidecar = new SidecarUnderTest({ groups: [INFRASTRUCTURE], objects: all, secrets });
  sidecar.secrets?.start();
  await sidecar.clock.advance(SECOND);
  return sidecar;
}

interface Expected {
  readonly status: number;
  readonly code: string;
  readonly message: string | RegExp;
}

/** Requests the identity, compares the error, and checks that STS is not called. */
async function rejects(t: Test, sidecar: SidecarUnderTest, path: string, expected: Expected): Promise<void> {
  const calls = sidecar.stsCalls.length + sidecar.identified.length;
  const { statusCode, body } = await sidecar.get(path);
  const parsed: unknown = JSON.parse(body);
  const actual = { status: statusCode, code: stringAt(parsed, "code"), message: stringAt(parsed, "message") };
  t.match(actual, expected, path);
  t.equal(sidecar.stsCalls.length + sidecar.identified.length, calls, "STS is not called");
}

const KEYS_FIX = "Write the keys AccessKeyID and SecretAccessKey (and SessionToken for a session) to the Secret.";

test("rejects a static identity whose Secret is deleted although its sessions are cached", async (t) => {
  const sidecar = await started([staticIdentity("s", {}, "s"), roleIdentity("r", "static/s")], { s: KEY });
  t.equal((await sidecar.get(pathOf("static/s"))).statusCode, 200);
  t.equal((await sidecar.get(pathOf("role/r"))).statusCode, 200);
  await sidecar.secretServer.change("s", null);
  const message = 'AWSClusterStaticIdentity "s" has no access key in the Secret capa-system/s: the Secret does not '
    + `exist. ${KEYS_FIX}`;
  for (const reference of ["static/s", "role/r"]) {
    await rejects(t, sidecar, pathOf(reference), { status: 409, code: "ERR_IDENTITY_SECRET", message });
  }
});

test("rejects a static identity if the Secrets are not listed, not readable, or not configured", async (t) => {
  const objects = [namespaceObject("team-a"), staticIdentity("s", {}, "s"), staticIdentity("bad", {}, "A_B")];
  const unlisted = new SidecarUnderTest({ groups: [INFRASTRUCTURE], objects, secrets: { s: KEY } });
  await rejects(t, unlisted, pathOf("static/s"), {
    status: 503, code: "ERR_NOT_READY",
    message: "The Secrets in the namespace capa-system are not listed yet. Retry in a moment.",
  });
  unlisted.secrets?.start();
  await unlisted.clock.advance(SECOND);
  unlisted.secretServer.status = 403;
  await rejects(t, unlisted, pathOf("static/s"), {
    status: 503, code: "ERR_CLUSTER_UNREADABLE",
    message: /^The Secret capa-system\/s could not be read: GET .* returned 403 .*manifests rbac/,
  });
  await rejects(t, unlisted, pathOf("static/bad"), {
    status: 409, code: "ERR_IDENTITY_SECRET",
    message: /^AWSClusterStaticIdentity "bad" names no Secret: secretRef "A_B" is not a valid name\. /,
  });
  const without = new SidecarUnderTest({ groups: [INFRASTRUCTURE], objects });
  await rejects(t, without, pathOf("static/s"), {
    status: 409, code: "ERR_IDENTITY_SECRET",
    message: 'AWSClusterStaticIdentity "s" cannot be used: the sidecar does not read Secrets. Set '
      + "--identity-secret-namespace to the namespace of CAPA; it requires --cluster.",
  });
});
