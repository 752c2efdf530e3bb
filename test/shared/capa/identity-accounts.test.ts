import { IDENTITY_ACCOUNTS_STORE } from "../../../shared/capa/identity-accounts.ts";
import { test } from "tap";
import { recordedAccounts } from "../capa-secrets.ts";
import { inventoryWith } from "../objects.ts";

test("a record counts in its own namespace, for the Secret that it names, and until it is removed", (t) => {
  const inventory = inventoryWith(recordedAccounts({ a: "111122223333", b: "111122223333", c: "444455556666" }));
  const identityAccounts = inventory.of(IDENTITY_ACCOUNTS_STORE);
  t.equal(identityAccounts.size, 1);
  t.equal(identityAccounts.accountOf("capa-system", "a"), "111122223333");
  t.same([...identityAccounts.secretsOf("capa-system", "111122223333")], ["a", "b"]);
  t.equal(identityAccounts.accountOf("team-a", "a"), null);
  t.same([...identityAccounts.secretsOf("team-a", "111122223333")], []);
  const name = "ack-role-resolver-identity-accounts";
  inventory.apply([{ type: "put", object: {
    apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "team-a" },
    data: { a: "444455556666 as of uid-a/7" },
  } }]);
  t.equal(identityAccounts.accountOf("team-a", "a"), null, "the Secret is in another namespace");
  inventory.apply([{ type: "remove", group: "", kind: "ConfigMap", namespace: "capa-system", name }]);
  t.equal(identityAccounts.accountOf("capa-system", "a"), null);
  t.end();
});

test("the record of a Secret of the same name counts for no other Secret", (t) => {
  const [, configMap] = recordedAccounts({ a: "111122223333" });
  const renewed = { apiVersion: "v1", kind: "Secret", metadata: {
    name: "a", namespace: "capa-system", uid: "uid-of-another", resourceVersion: "7",
  } };
  const inventoryAfter = inventoryWith([renewed, ...(configMap === undefined ? [] : [configMap])]);
  const identityAccounts = inventoryAfter.of(IDENTITY_ACCOUNTS_STORE);
  t.equal(identityAccounts.accountOf("capa-system", "a"), null);
  t.end();
});
