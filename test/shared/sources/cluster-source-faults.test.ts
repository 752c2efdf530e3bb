import { test } from "tap";
import { connectionError, type ListWatchError, responseError } from "../../../shared/api/api-errors.ts";
import { joinFaults } from "../../../shared/sources/cluster-source.ts";
import { fixedKinds } from "../../../shared/sources/cluster-kinds.ts";

const REFUSED = new Error("connect ECONNREFUSED 127.0.0.1:6443");
const FIX = "; check that the API server is running and reachable";
const [first] = fixedKinds(null);
if (first === undefined) throw new Error("no kinds");

const faultsOf = (status: number): ListWatchError[] => fixedKinds(null).map((kind) => (
  responseError(kind, { verb: "list", status, body: "", retryAfterMs: 0 })
));

test("reports a refused connection once, with the number of kinds", (t) => {
  const refused = fixedKinds(null).map((kind) => connectionError(kind, REFUSED));
  t.equal(joinFaults(refused), `cannot list or watch 3 kinds: ${REFUSED.message}${FIX}`);
  t.equal(
    joinFaults([connectionError(first, new Error("aborted")), ...refused.slice(1)]),
    "cannot list or watch iamroleselectors.services.k8s.aws: aborted; "
      + `cannot list or watch 2 kinds: ${REFUSED.message}${FIX}`,
  );
  t.equal(joinFaults(refused.slice(0, 1)), refused[0]?.message, "one kind is named");
  t.end();
});

test("reports rejected credentials once", (t) => {
  t.equal(
    joinFaults(faultsOf(401)),
    "the API server rejected the credentials (401 on list 3 kinds); renew them in the kubeconfig",
  );
  t.end();
});

test("names every kind that the user may not list", (t) => {
  t.equal(joinFaults(faultsOf(403)), faultsOf(403).map(({ message }) => message).join("; "));
  t.end();
});

test("lists at most 10 different faults", (t) => {
  const faults = Array.from({ length: 12 }, (_, i) => ({ message: `fault ${i}`, messageFor: null }));
  t.equal(joinFaults(faults), `${faults.slice(0, 10).map(({ message }) => message).join("; ")}; and 2 more`);
  t.end();
});
