import { test } from "tap";
import { bucketObject } from "../../objects.ts";
import { ADMIN, attempted, BASE, lines, notApplied, owned, tiered } from "../resource-lines.ts";

const SILVER_DRIFT = 'metadata.labels: it is of account "111122223333" and its role of "444455556666"';
const KEEP = "Keep the labels that select a role in its account; a resource moves only by being made anew.";

test("ACK-07 refuses a step of a resource to a role in another account", (t) => {
  const old = owned("111122223333");
  t.same(lines("ACK-07", tiered("silver"), { old }), [`deny ACK-07 ${SILVER_DRIFT}, which controllers stop at for ever. ${KEEP}`]);
  t.same(lines("ACK-07", tiered("gold"), { old }), []);
  t.same(lines("ACK-07", tiered("silver"), { old: tiered("gold") }), [], "it is of no account yet");
  t.match(lines("ACK-07", tiered("silver"), { old: owned("111122223333", tiered("silver")) }), [/^warn ACK-07/], "the selector did it, not this step");
  t.end();
});

test("ACK-07 counts the stored status, and is not waived", (t) => {
  const claimed = owned("444455556666", tiered("silver"));
  t.match(lines("ACK-07", claimed, { old: owned("111122223333"), requester: ADMIN }), [/^deny ACK-07/], "the one that is sent is put back");
  t.same(lines("ACK-07", owned("111122223333", tiered("silver")), { old: owned("444455556666", tiered("gold")) }), []);
  t.same(lines("ACK-07", owned("111122223333", tiered("silver"))), [], "at create there is none");
  t.end();
});

test("ACK-18 warns of the account of an attempt that made nothing", (t) => {
  const line = `warn ACK-18 ${SILVER_DRIFT}, though it was never made there. Delete the object and create it anew, or clear status.ackResourceMetadata.`;
  const old = attempted("111122223333");
  t.same(lines("ACK-18", tiered("silver"), { old }), [line]);
  t.same(lines("ACK-07", tiered("silver"), { old }), [], "and not refused");
  t.same(lines("ACK-18", tiered("gold"), { old }), []);
  t.same(lines("ACK-18", tiered("silver"), { old: owned("111122223333") }), []);
  t.same(lines("ACK-18", attempted("111122223333", tiered("silver")), { origin: "file" }), [line], "a file has its own status");
  t.end();
});

test("ACK-08 refuses a step of a foreign resource to the controller's own role", (t) => {
  const old = owned("111122223333");
  t.same(lines("ACK-08", tiered(), { old }), [
    'deny ACK-08 metadata.labels: it is of account "111122223333", and the controller\'s own role, of account "777788889999", would make it again there. '
    + "Keep the labels by which a selector in its account selects it.",
  ]);
  t.same(lines("ACK-08", tiered("gold"), { old }), []);
  t.same(lines("ACK-08", tiered(), { old: owned(BASE) }), [], "its account is the controller's");
  t.match(lines("ACK-08", tiered(), { old: owned("111122223333", tiered()) }), [/^warn ACK-08/]);
  t.same(lines("ACK-08", tiered(), { old: bucketObject() }), []);
  t.end();
});

test("ACK-08 takes the controller's account from its role, and is not applied without either", (t) => {
  const old = owned("111122223333");
  const settings = { controllerAccount: null, controllerRole: "arn:aws:iam::777788889999:role/ack" };
  t.match(lines("ACK-08", tiered(), { old, settings }), [/of account "777788889999"/]);
  t.same(lines("ACK-08", tiered(), { old, settings: { controllerAccount: null } }), []);
  t.equal(notApplied(tiered(), { old, settings: { controllerAccount: null } })["ACK-08"], "--controller-account or --controller-role");
  t.end();
});
