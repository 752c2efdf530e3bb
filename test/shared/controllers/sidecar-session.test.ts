import type { SidecarSession } from "../../../shared/core/session.ts";
import { test } from "tap";
import { decodePod, podTemplateOf } from "../../../shared/core/pod.ts";
import { sidecarSessionOf } from "../../../shared/controllers/sidecar-session.ts";
import { controllerDeployment } from "../../fixtures/controllers.ts";

/** Reads the sidecar of a Deployment, with these arguments and fields of its container. */
function sessionOf(args: readonly string[], fields: object = {}): SidecarSession | null | string {
  const sidecar = { name: "ack-role-resolver", args: ["sidecar", "--cluster", ...args], ...fields };
  return ofTemplate({ spec: { initContainers: [sidecar] } });
}

function ofTemplate(parts: Parameters<typeof controllerDeployment>[0]): SidecarSession | null | string {
  return sidecarSessionOf(decodePod(podTemplateOf(controllerDeployment(parts))?.pod ?? {}));
}

test("reads what a sidecar sends from its flags", async (t) => {
  t.match(sessionOf([]), { sessionName: "ack-role-resolver", defaults: { externalID: null, tags: [] } });
  const flags = [
    "--session-name=ctl", "--default-external-id", "x1", "--default-source-identity=ack",
    "--default-session-tags=team={namespace},env=prod",
  ];
  t.match(sessionOf(flags), {
    sessionName: "ctl", defaults: {
      externalID: "x1", sourceIdentity: "ack",
      tags: [{ key: "team", value: "{namespace}" }, { key: "env", value: "prod" }],
    },
  });
  t.equal(ofTemplate({}), null);
  const injected = { metadata: { labels: { "ack-role-resolver.io/inject": "true" } } };
  t.match(ofTemplate(injected), { sessionName: "ack-role-resolver" });
});

test("says why the session settings are unknown", async (t) => {
  t.equal(sessionOf(["$(FLAGS)"]), "an argument of the sidecar is not in the Deployment");
  t.equal(sessionOf(["--session-name=$(NAME)"]), "the value of a flag of the sidecar is not in the Deployment");
  const variables = { env: [{ name: "ACK_ROLE_RESOLVER_DEFAULT_EXTERNAL_ID", value: "x1" }] };
  t.equal(sessionOf([], variables), "variables can set flags of the sidecar");
  t.equal(sessionOf([], { envFrom: [{ secretRef: { name: "s" } }] }), "variables can set flags of the sidecar");
  t.match(sessionOf(["--default-external-id=x y"]), /^the sidecar does not start: --default-external-id: /);
});
