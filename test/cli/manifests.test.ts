import path from "node:path";
import { test } from "tap";
import { parseAllDocuments } from "yaml";
import { field, stringAt } from "../../shared/formats/json.ts";
import { runCommand } from "./run-command.ts";

const CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

async function objects(...argv: string[]): Promise<unknown[]> {
  const { status, stdout } = await runCommand(["manifests", ...argv]);
  return status === 0 ? parseAllDocuments(stdout).map((document): unknown => document.toJS()) : [];
}

test("prints the objects of the given part, and all parts for a webhook outside the cluster", async (t) => {
  const kinds = async (...argv: string[]): Promise<(string | null)[]> =>
    (await objects(...argv)).map((object) => stringAt(object, "kind"));
  t.same(await kinds("crds"), ["CustomResourceDefinition"]);
  t.same(await kinds("webhooks"), ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]);
  t.ok((await kinds("rbac")).includes("ClusterRole"));
  t.ok((await kinds("policies")).includes("ValidatingAdmissionPolicy"));
  const caFile = path.join(t.testdir({ "ca.crt": CA }), "ca.crt");
  const last = [...await kinds("policies"), ...await kinds("webhooks")];
  const outside = ["--url", "https://webhook.example:9443", "--ca-file", caFile];
  t.same(await kinds(...outside), [...await kinds("rbac", "--ca-file", caFile), ...last]);
  const { stderr } = await runCommand(["manifests", "crds"]);
  t.equal(stderr, "warning: this CRD replaces the CRD of ACK's charts; docs/crd.md states when that is useful\n");
});

test("exits 2 and names the Helm command for what only the chart installs", async (t) => {
  for (const argv of [[], ["all"], ["deployment"], ["identity-crd"], ["everything"]]) {
    t.same(await runCommand(["manifests", ...argv]), {
      status: 2, stdout: "",
      stderr: `ack-role-resolver: manifests ${argv[0] ?? "all"}: run \`helm install ack-role-resolver manifests/chart `
        + "--namespace ack-role-resolver --create-namespace`, or `helm template` with these arguments; manifests "
        + "prints crds, rbac, policies, webhooks, and with --url and --ca-file all, for a webhook outside the "
        + "cluster\n",
    });
  }
});

test("the policies have the same settings as the webhook", async (t) => {
  const print = async (...argv: string[]): Promise<string> => (
    (await runCommand(["manifests", "policies", ...argv])).stdout
  );
  const byDefault = await print();
  t.notMatch(byDefault, '["IRS-03"]');
  t.match(byDefault, "system:masters");
  const flags = ["--check", "IRS-03=off", "--waiver-users", "jane", "--waiver-groups", "platform"];
  const changed = await print(...flags, "--allowed-accounts", "111122223333", "--controller-users", "ack*");
  t.match(changed, /name: disabledChecks\n +expression: '\["IRS-03"\]'/);
  t.match(changed, 'in ["jane"]');
  t.match(changed, '["platform"]');
  t.match(changed, '["111122223333"]');
  t.match(changed, "^ack.*$");
  t.match(await runCommand(["manifests", "policies", "--check", "IRS-99=off"]), { status: 2 });
});

test("--url and --ca-file set the address and the CA bundle of the webhooks", async (t) => {
  const dir = t.testdir({ "ca.crt": CA });
  const [mutating] = await objects(
    "webhooks",
    "--url",
    "https://webhook.example:9443",
    "--ca-file",
    path.join(dir, "ca.crt"),
  );
  const webhooks = field(mutating, "webhooks");
  const client = field(Array.isArray(webhooks) ? webhooks[0] : null, "clientConfig");
  t.same(client, {
    url: "https://webhook.example:9443/mutate/iamroleselectors",
    caBundle: Buffer.from(CA).toString("base64"),
  });
});

test("exits 2 if the CA file is missing or invalid, or if --url is not an https URL", async (t) => {
  const dir = t.testdir({ "ca.crt": "no PEM" });
  const missing = path.join(dir, "missing.crt");
  t.same(await runCommand(["manifests", "webhooks", "--ca-file", missing]), {
    status: 2,
    stdout: "",
    stderr: `ack-role-resolver: --ca-file ${missing}: cannot be read; use the ca.crt that \`certs make\` wrote\n`,
  });
  t.match(await runCommand(["manifests", "webhooks", "--ca-file", path.join(dir, "ca.crt")]), {
    status: 2,
    stderr: /: is not a PEM certificate; /,
  });
  t.match(await runCommand(["manifests", "--url", "http://webhook.example"]), {
    status: 2,
    stderr: "ack-role-resolver: --url: expected https://HOST:PORT\n",
  });
});

test("lets the webhook create SubjectAccessReviews only if --check enables a check that needs them", async (t) => {
  const reviewRules = async (...argv: string[]): Promise<unknown[]> =>
    (await objects("rbac", ...argv)).filter((object) => JSON.stringify(object).includes("subjectaccessreviews"));
  for (const id of ["ACK-09", "NS-02", "AC-05"]) {
    t.match(await reviewRules("--check", `${id}=warn`), [
      { kind: "ClusterRole", rules: [{ resources: ["subjectaccessreviews"], verbs: ["create"] }] },
    ], id);
  }
  t.same(await reviewRules(), []);
});

test("does not let the webhook list the Secrets of its own namespace, which contain the key of its CA", async (t) => {
  const namespaces = ["--namespace", "capa", "--identity-secret-namespace", "capa"];
  for (const part of ["policies", "rbac"]) {
    t.match(await runCommand(["manifests", part, ...namespaces]), {
      status: 2, stdout: "", stderr: /--identity-secret-namespace: requires another namespace than --namespace/,
    }, part);
  }
});
