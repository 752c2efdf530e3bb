import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ALL_CLOSED, missingFlags } from "../../../shared/core/closures.ts";
import { decodePod } from "../../../shared/core/pod.ts";
import { sidecarClosures } from "../../../shared/controllers/pod-profile.ts";
import { sidecarOf } from "../../../shared/core/sidecar-container.ts";
import { testRows } from "../rows.ts";

/** Returns the flags that the sidecar lacks to close everything, or "follows". */
function open(container: JsonObject, installed: readonly string[] | null = INSTALLED): readonly string[] {
  const pod = decodePod({ spec: { containers: [{ name: "ack-role-resolver", ...container }] } });
  const sidecar = sidecarOf(pod);
  const closures = sidecar === null ? null : sidecarClosures(sidecar, installed);
  return closures === null ? ["follows"] : missingFlags({ ...ALL_CLOSED, sessionScope: false }, closures);
}

const INSTALLED = ["ack-role-resolver", "other"];
const BASE = "--base=identity-only";
const UNMATCHED = "--unmatched=deny";
const variable = (name: string, rest: JsonObject): JsonObject => (
  { env: [{ name: `ACK_ROLE_RESOLVER_${name}`, ...rest }] }
);

testRows("what a running sidecar leaves open", open, [
  ["no flag", { args: ["sidecar", "--cluster"] }, BASE, UNMATCHED],
  ["a profile", { args: ["sidecar", "--cluster", "--profile=strict"] }],
  ["a profile in two words", { args: ["sidecar", "--cluster", "--profile", "strict"] }],
  ["one flag", { args: ["sidecar", BASE] }, UNMATCHED],
  ["a flag over the profile", { args: ["sidecar", "--profile=strict", "--base=vend"] }, BASE],
  ["the profile of the installation", { args: ["sidecar", "--profile-namespace=ack-role-resolver"] }, "follows"],
  ["the profile of another namespace", { args: ["sidecar", "--profile-namespace=team-a"] }, BASE, UNMATCHED],
  ["a namespace that is not known", variable("PROFILE_NAMESPACE", { valueFrom: { fieldRef: {} } }), BASE, UNMATCHED],
  ["the same as a variable", variable("PROFILE_NAMESPACE", { value: "ack-role-resolver" }), "follows"],
  ["a variable", variable("PROFILE", { value: "strict" })],
  ["a variable with an unknown value", variable("PROFILE", { valueFrom: { secretKeyRef: {} } }), BASE, UNMATCHED],
  ["a flag over a variable", { args: ["sidecar", "--profile=strict"], ...variable("PROFILE", { value: "enforce" }) }],
  ["an unknown flag value", { args: ["sidecar", "--profile=strict", "--base=$(SECRET)"],
    env: [{ name: "SECRET", valueFrom: { secretKeyRef: {} } }] }, BASE],
  ["another program", { command: ["sh", "-c", "ack-role-resolver sidecar --profile=strict"] }, BASE, UNMATCHED],
]);

test("every profile counts while the namespaces of the installation are unknown", (t) => {
  t.same(open({ args: ["sidecar", "--profile-namespace=team-a"] }, null), ["follows"]);
  t.same(open({ args: ["sidecar"] }, null), [BASE, UNMATCHED]);
  t.end();
});
