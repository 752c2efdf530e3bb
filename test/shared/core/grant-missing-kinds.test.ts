import { test } from "tap";
import type { Origin } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import { grantInNamespace, grantRole, grantSelector } from "../../../shared/core/grant-decision.ts";
import { inventoryWith, kindObject, namespaceObject, put } from "../objects.ts";
import { A, ANYWHERE, B, grantText, RDS, S3, selector, TEAM_A } from "./comparable-grant.ts";

const OF_INVENTED = selector("invented", A, { resourceTypeSelector: [{ group: S3, kind: "Zqxwidget" }] });
const MISSING = 'IAMRoleSelector invented selects "Zqxwidget.s3.services.k8s.aws", but the cluster has no '
  + "CustomResourceDefinition of this kind. Correct spec.resourceTypeSelector, or install the definition.";
const INVENTED = [{ kind: "Zqxwidget", version: null, group: S3 }];

function definition(kind: string, group = S3, served = true): JsonObject {
  return kindObject(kind, group, [{ name: "v1alpha1", storage: true, served }]);
}

function inventoryOf(objects: readonly JsonObject[], origin: Origin = "cluster"): Inventory {
  return inventoryWith([namespaceObject("team-a"), ...objects], { runtime: "ack", origin });
}

test("grants no role of a selector whose kind the cluster does not have, by ARN and by name", (t) => {
  const inventory = inventoryOf([OF_INVENTED, definition("Bucket")]);
  t.equal(grantText(grantSelector(inventory, "invented", ANYWHERE)), `ERR_SELECTOR_NOT_GRANTED [invented] ${MISSING}`);
  t.equal(grantText(grantRole(inventory, A, ANYWHERE)), "ERR_SELECTOR_NOT_GRANTED [invented] No IAMRoleSelector grants "
    + `"${A}" to ${S3}. Selectors with this role: invented. ${MISSING}`);
  inventory.apply([put(definition("Zqxwidget"))]);
  t.equal(grantText(grantRole(inventory, A, ANYWHERE)), `${A} of invented`, "as soon as it is installed");
  inventory.apply([put(definition("Zqxwidget", S3, false))]);
  t.match(grantText(grantRole(inventory, A, ANYWHERE)), MISSING, "a kind that no version serves");
  t.end();
});

test("denies a request of a namespace for kinds of which the cluster has none", (t) => {
  const inventory = inventoryOf([OF_INVENTED, definition("Bucket")]);
  const granted = (kinds: typeof ANYWHERE.kinds): string => (
    grantText(grantInNamespace(inventory, { ...TEAM_A, kinds, unmatched: "base" }))
  );
  t.equal(granted(INVENTED), "ERR_SELECTOR_NOT_GRANTED [] The cluster has no CustomResourceDefinition of "
    + "Zqxwidget.s3.services.k8s.aws. Request a kind that it has, or install the definition.");
  t.match(granted([{ kind: "Zqxwidget", version: null, group: null }]), /^ERR_SELECTOR_NOT_GRANTED /);
  t.equal(granted([{ kind: "Bucket", version: null, group: null }]), "base");
  // A definition that the watch has not delivered yet must not change the role of the other kinds.
  t.match(granted([]), /^ERR_SELECTOR_AMBIGUOUS /);
  t.match(granted([...INVENTED, { kind: "Bucket", version: null, group: S3 }]), /^ERR_SELECTOR_AMBIGUOUS /);
  t.end();
});

test("grants no role through kinds that do not exist, if selectors conflict for each kind that does", (t) => {
  const every = selector("every", A);
  const buckets = selector("buckets", B, { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] });
  const inventory = inventoryOf([every, buckets, definition("Bucket")]);
  t.match(grantText(grantRole(inventory, A, ANYWHERE)), /^ERR_SELECTOR_NOT_GRANTED .* conflicts with others on each/);
  inventory.apply([put(definition("BucketPolicy"))]);
  t.equal(grantText(grantRole(inventory, A, ANYWHERE)), `${A} of every`);
  t.end();
});

test("refuses no kind where the kinds of the group are not known", (t) => {
  const known: readonly (readonly [string, Inventory])[] = [
    ["no definition", inventoryOf([OF_INVENTED])],
    ["a definition of another group", inventoryOf([OF_INVENTED, definition("DBInstance", RDS)])],
    ["manifests, which may lack definitions", inventoryOf([OF_INVENTED, definition("Bucket")], "file")],
  ];
  for (const [name, inventory] of known) {
    t.equal(grantText(grantRole(inventory, A, ANYWHERE)), `${A} of invented`, name);
    t.equal(grantText(grantInNamespace(inventory, { ...TEAM_A, kinds: INVENTED })), `${A} of invented`, name);
  }
  t.end();
});

test("grants a role for the existing kinds of a selector that also names others, in each group", (t) => {
  const types = [{ group: S3, kind: "Zqxwidget" }, { kind: "DBInstance" }];
  const inventory = inventoryOf([
    selector("several", A, { resourceTypeSelector: types }), definition("Bucket"), definition("DBInstance", RDS),
  ]);
  t.equal(grantText(grantRole(inventory, A, { ...ANYWHERE, groups: [S3, RDS] })), `${A} of several`);
  t.match(grantText(grantRole(inventory, A, ANYWHERE)), /selects "Zqxwidget\.s3/);
  const bucket = [{ kind: "Bucket", version: null, group: null }];
  t.match(grantText(grantRole(inventory, A, { ...ANYWHERE, groups: [S3, RDS], kinds: bucket })), /^ERR_SELECTOR_NOT/);
  t.end();
});
