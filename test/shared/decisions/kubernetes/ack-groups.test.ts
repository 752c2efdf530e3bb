import { test } from "tap";
import { ACK_GROUPS } from "../../../../shared/decisions/kubernetes/kinds.ts";
import { ACK_CRDS } from "../../../fixtures/ack-crds.ts";

test("lists whole group names, sorted and unique", (t) => {
  t.same(ACK_GROUPS, [...new Set(ACK_GROUPS)].toSorted());
  t.same(
    ACK_GROUPS.filter((group) => !/^[a-z0-9]+\.services\.k8s\.aws$/u.test(group)),
    [],
  );
  t.notOk(ACK_GROUPS.includes("services.k8s.aws"), "the kinds of the runtime are not AWS resources");
  t.end();
});

test("lists the group of every kind in the fixtures", (t) => {
  t.same(
    ACK_CRDS.filter(({ spec }) => !ACK_GROUPS.includes(spec.group)),
    [],
  );
  t.end();
});
