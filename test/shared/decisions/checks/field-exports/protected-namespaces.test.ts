import { test } from "tap";
import { ownerOfNamespace } from "../../../../../shared/decisions/checks/field-exports/protected-namespaces.ts";
import { SETTINGS_BY_DEFAULT } from "../../objects.ts";

test("a pattern of users protects the namespaces that its service accounts have", (t) => {
  const isProtected = (pattern: string, namespace: string): boolean => (
    ownerOfNamespace(namespace, { ...SETTINGS_BY_DEFAULT, controllerUsers: [pattern] }) !== null
  );
  t.ok(isProtected("system:serviceaccount:ack-s3:*", "ack-s3"));
  t.notOk(isProtected("system:serviceaccount:ack-s3:*", "ack-s"));
  t.notOk(isProtected("system:serviceaccount:ack-s3:*", "ack-s3-2"));
  t.ok(isProtected("system:serviceaccount:ack-*:controller", "ack-rds"));
  t.ok(isProtected("system:serviceaccount:ack-*", "ack-rds"));
  t.notOk(isProtected("system:serviceaccount:ack-*", "team-a"));
  const others = ["system:serviceaccount:*:ack-s3", "system:serviceaccount:**", "system:serviceaccount:", "ack*"];
  for (const pattern of others) {
    t.notOk(isProtected(pattern, "team-a"), pattern);
  }
  t.end();
});
