import { test } from "tap";
import { ACK_GROUPS } from "../../../../shared/decisions/kubernetes/ack-groups.ts";
import { ACK_CRDS } from "../../../fixtures/ack-crds.ts";

test("the groups of ACK are whole names, sorted, each once", (t) => {
  t.same(ACK_GROUPS, [...new Set(ACK_GROUPS)].toSorted());
  t.same(
    ACK_GROUPS.filter((group) => !/^[a-z0-9]+\.services\.k8s\.aws$/u.test(group)),
    [],
  );
  t.notOk(ACK_GROUPS.includes("services.k8s.aws"), "the runtime's own kinds are no AWS resources");
  t.end();
});

test("every kind of the fixtures is in a group that is listed", (t) => {
  t.same(
    ACK_CRDS.filter(({ spec }) => !ACK_GROUPS.includes(spec.group)),
    [],
  );
  t.end();
});
