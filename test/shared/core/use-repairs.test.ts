import { test } from "tap";
import { usedSelector, useRepairs } from "../../../shared/core/use-rights.ts";

const JANE = { username: "jane", groups: [] };

test("creates a Role or a ClusterRole with its binding for the requester", (t) => {
  const [inNamespace] = useRepairs(usedSelector("gold"), "team-a", JANE);
  t.match(inNamespace, { when: 'to let "jane" use it', edits: [
    {
      of: { kind: "Role", namespace: "team-a", name: "use-gold" },
      value: { rules: [{ resources: ["iamroleselectors"], resourceNames: ["gold"], verbs: ["use"] }] },
    },
    {
      of: { kind: "RoleBinding", namespace: "team-a" },
      value: { roleRef: { kind: "Role", name: "use-gold" }, subjects: [{ kind: "User", name: "jane" }] },
    },
  ] });
  t.equal(inNamespace?.isSafe, undefined, "only a person grants rights");
  t.match(useRepairs(usedSelector("ack-role-resolver:default"), null, JANE)[0], { edits: [
    { of: { kind: "ClusterRole", namespace: null, name: "use-ack-role-resolver-default" } },
    { of: { kind: "ClusterRoleBinding" }, value: { roleRef: { kind: "ClusterRole" } } },
  ] });
  t.end();
});

test("has no repair if the requester, the kind or the name is unknown", (t) => {
  t.same(useRepairs(usedSelector("gold"), "team-a", null), []);
  t.same(useRepairs({ group: "g", resource: "*", name: "gold" }, "team-a", JANE), []);
  t.same(useRepairs(usedSelector(""), "team-a", JANE), []);
  t.end();
});
