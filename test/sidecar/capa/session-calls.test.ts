import { test } from "tap";
import { durationField } from "../../../sidecar/capa/session-calls.ts";
import { roleOf } from "./setup.ts";

test("names the identity that sets the duration of a session", (t) => {
  t.equal(durationField(roleOf("capa")), 'durationSeconds of AWSClusterRoleIdentity "capa"');
  t.end();
});
