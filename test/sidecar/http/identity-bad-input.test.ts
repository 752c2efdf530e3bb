import { type Test, test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import {
  controllerIdentity, INFRASTRUCTURE, refTo, roleIdentity, staticIdentity,
} from "../../shared/decisions/identities/objects.ts";
import { namespaceObject, removal } from "../../shared/decisions/objects.ts";
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

/** The content of a Secret that contains no valid access key, and the fault in the message. */
const BAD_SECRETS: readonly (readonly [name: string, data: SecretData, fault: string])[] = [
  ["no-keys", {}, "its key AccessKeyID is missing; its key SecretAccessKey is missing"],
  [
    "wrong-case", { accessKeyID: KEY["AccessKeyID"], secretAccessKey: KEY["SecretAccessKey"] },
    'its key AccessKeyID is missing (it has "accessKeyID", but the names are case-sensitive); its key SecretAccessKey '
      + 'is missing (it has "secretAccessKey", but the names are case-sensitive)',
  ],
  [
    "empty", { AccessKeyID: "", SecretAccessKey: "" },
    "its key AccessKeyID is empty; its key SecretAccessKey is empty",
  ],
  [
    "newline", { ...KEY, ...secretData({ SecretAccessKey: "planted-secret\n" }) },
    "the value of its key SecretAccessKey is not printable ASCII without spaces and newlines",
  ],
  [
    "swapped", { ...KEY, ...secretData({ AccessKeyID: `planted/${"x".repeat(32)}` }) },
    "the value of its key AccessKeyID looks like a secret access key",
  ],
];

test("rejects a Secret without a valid access key, for the static identity and for a role over it", async (t) => {
  const names = [...BAD_SECRETS.map(([name]) => name), "missing"];
  const objects = names.flatMap((name) => [staticIdentity(name, {}, name), roleIdentity(name, `static/${name}`)]);
  const secrets = Object.fromEntries(BAD_SECRETS.map(([name, data]) => [name, data]));
  const sidecar = await started(objects, secrets);
  for (const [name, , fault] of [...BAD_SECRETS, ["missing", {}, "the Secret does not exist"] as const]) {
    for (const reference of [`static/${name}`, `role/${name}`]) {
      await rejects(t, sidecar, pathOf(reference), {
        status: 409, code: "ERR_IDENTITY_SECRET",
        message: `AWSClusterStaticIdentity "${name}" has no access key in the Secret capa-system/${name}: ${fault}. `
          + KEYS_FIX,
      });
    }
  }
});

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

test("rejects a chain that has a cycle or 9 roles, and a chain whose source is missing or deleted", async (t) => {
  const roles = Array.from({ length: 9 }, (_, i) => roleIdentity(`r${i}`, i === 8 ? "controller" : `role/r${i + 1}`));
  const sidecar = await started([
    ...roles, roleIdentity("a", "role/b"), roleIdentity("b", "role/a"), roleIdentity("over", "role/source"),
    roleIdentity("source"), roleIdentity("typed", "bucket/x"),
  ]);
  await rejects(t, sidecar, pathOf("role/a"), {
    status: 409, code: "ERR_IDENTITY_CYCLE",
    message: 'The sources of the identities form a cycle of AWSClusterRoleIdentities: "a" -> "b" -> "a". Change the '
      + "sourceIdentityRef of one of them.",
  });
  await rejects(t, sidecar, pathOf("role/r0"), {
    status: 409, code: "ERR_IDENTITY_DEPTH",
    message: 'The chain has more than 8 AWSClusterRoleIdentities; AWSClusterRoleIdentity "r8" is number 9. Change the '
      + "sourceIdentityRef of an identity, so that the chain has fewer roles.",
  });
  await rejects(t, sidecar, pathOf("role/typed"), {
    status: 404, code: "ERR_IDENTITY_KIND", message: /^The kind "bucket" of sourceIdentityRef is not the kind of an i/,
  });
  t.equal((await sidecar.get(pathOf("role/over"))).statusCode, 200);
  sidecar.inventory.apply([removal(INFRASTRUCTURE, "AWSClusterRoleIdentity", "source")]);
  await rejects(t, sidecar, pathOf("role/over"), {
    status: 404, code: "ERR_IDENTITY_UNKNOWN",
    message: 'AWSClusterRoleIdentity "source" does not exist. AWSClusterRoleIdentity "over" names it as its source. '
      + "Create the identity, or change the reference.",
  });
});

test("rejects a namespace that an identity of the chain does not allow, and a namespace that is missing", async (t) => {
  const sidecar = await started([
    roleIdentity("closed", "controller", { list: ["team-b"] }), roleIdentity("over", "role/closed"),
    staticIdentity("s", { list: ["team-b"] }, "s"), roleIdentity("over-s", "static/s"),
    roleIdentity("text", "controller", "test"), roleIdentity("list", "controller", ["test"]),
  ], { s: KEY });
  const fix = "Add the namespace to allowedNamespaces.list of the identity, or use another identity.";
  const refused = (name: string, reason: string): Expected => ({
    status: 403, code: "ERR_IDENTITY_NAMESPACE",
    message: `${name} does not allow the namespace "team-a": ${reason}. ${fix}`,
  });
  const unlisted = "allowedNamespaces.list does not contain the namespace";
  const malformed = "allowedNamespaces is not an object, so no namespace may use the identity";
  for (const [reference, name, reason] of [
    ["role/closed", 'AWSClusterRoleIdentity "closed"', unlisted],
    ["role/over", 'AWSClusterRoleIdentity "closed"', unlisted],
    ["role/over-s", 'AWSClusterStaticIdentity "s"', unlisted],
    ["role/text", 'AWSClusterRoleIdentity "text"', malformed],
    ["role/list", 'AWSClusterRoleIdentity "list"', malformed],
  ] as const) await rejects(t, sidecar, pathOf(reference), refused(name, reason));
  await rejects(t, sidecar, pathOf("role/closed", "gone"), {
    status: 404, code: "ERR_NAMESPACE_UNKNOWN", message: /"?gone"?/,
  });
  await rejects(t, sidecar, "/v1/credentials/identities/AWSClusterRoleIdentity/closed", {
    status: 400, code: "ERR_REQUEST_MALFORMED",
    message: "Invalid request: namespace is missing (add namespace=NS, the namespace of the cluster).",
  });
  t.same(sidecar.secretServer.reads, [], "a denied request reads no Secret");
});

test("rejects a long session in a chain, and a session policy that is not JSON or too long", async (t) => {
  const role = (name: string, rest: JsonObject, source = "controller"): JsonObject => (
    roleIdentity(name, source, {}, rest)
  );
  const sidecar = await started([
    role("long", { durationSeconds: 3601 }), role("source", {}),
    role("chained", { durationSeconds: 7200 }, "role/source"),
    role("not-json", { inlinePolicy: "{" }), role("list", { inlinePolicy: "[]" }),
    role("huge", { inlinePolicy: JSON.stringify({ a: "x".repeat(2_041) }) }),
    role("fits", { inlinePolicy: JSON.stringify({ a: "x".repeat(2_040) }) }),
  ]);
  const session = (name: string, fault: string): Expected => ({
    status: 409, code: "ERR_IDENTITY_SESSION",
    message: `AWSClusterRoleIdentity "${name}" does not have valid parameters for AssumeRole: ${fault}. Correct the `
      + "fields of the identity.",
  });
  for (const [name, seconds] of [["long", 3601], ["chained", 7200]] as const) {
    await rejects(t, sidecar, pathOf(`role/${name}`), {
      status: 409, code: "ERR_IDENTITY_SESSION",
      message: `durationSeconds of AWSClusterRoleIdentity "${name}" is ${seconds}, but its role is assumed with the `
        + "credentials of a session, for which STS allows at most 3600 seconds (role chaining). Set durationSeconds to "
        + "at most 3600, or remove it.",
    });
  }
  for (const name of ["not-json", "list"]) {
    await rejects(t, sidecar, pathOf(`role/${name}`), session(name, "inlinePolicy is not a JSON object"));
  }
  const fault = "inlinePolicy has 2049 characters, more than 2048";
  await rejects(t, sidecar, pathOf("role/huge"), session("huge", fault));
  t.equal((await sidecar.get(pathOf("role/fits"))).statusCode, 200, "a policy of 2048 characters");
});

test("rejects an unknown kind, and the kinds of other objects", async (t) => {
  const sidecar = await started([]);
  for (const kind of ["Bucket", "awsclusterroleidentity", "AWSCluster", "__proto__"]) {
    await rejects(t, sidecar, `/v1/credentials/identities/${kind}/a?namespace=team-a`, {
      status: 404, code: "ERR_IDENTITY_KIND",
      message: `The kind "${kind}" of identityRef is not the kind of an identity. Use one of `
        + "AWSClusterControllerIdentity, AWSClusterStaticIdentity, AWSClusterRoleIdentity, AWSServiceAccountIdentity.",
    });
  }
});
