import { test } from "tap";
import {
  type HypotheticalResource, hypotheticalResources,
} from "../../../shared/diagnosis/hypothetical-resource.ts";
import { inventoryWith, kindObject } from "../objects.ts";

const BUCKET = "Bucket.s3.services.k8s.aws";
const inventory = inventoryWith([], { origin: "file" });

function faults(described: Partial<HypotheticalResource>): readonly string[] {
  try {
    hypotheticalResources({ kinds: [BUCKET], namespace: "team-a", labels: [], ...described }, inventory);
    return [];
  } catch (error) {
    return error instanceof Error ? error.message.split("\n") : [];
  }
}

test("uses the requested version, else the storage version, else the version that ACK controllers ship", (t) => {
  const query = {
    group: "s3.services.k8s.aws",
    kind: "Bucket",
    namespace: "team-a",
    name: null,
    labels: new Map([
      ["tier", "gold"],
      ["empty", ""],
    ]),
    annotations: new Map(),
    status: { ownerAccountID: null, region: null },
  };
  const described = {
    kinds: ["Bucket.v2.s3.services.k8s.aws", BUCKET],
    namespace: "team-a",
    labels: ["tier=gold", "empty="],
  };
  const versions = ["v2", "v1alpha1"].map((version) => ({ ...query, version }));
  t.match(hypotheticalResources(described, inventory), versions);
  const known = inventoryWith(
    [kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1", served: true, storage: true }])], { origin: "file" },
  );
  t.match(hypotheticalResources(described, known), [{ version: "v2" }, { version: "v1" }]);
  t.end();
});

test("reports every fault of a hypothetical resource and the expected form", (t) => {
  t.same(
    faults({
      kinds: ["bucket", "Bucket", "Pod.core.example.com"],
      namespace: "Team",
      labels: ["tier", "=x", "a=b c", "k=v", "k=w"],
    }),
    [
      "--namespace \"Team\": a namespace name must consist of lower-case letters, digits and '-', and start and end "
        + "with a letter or digit",
      '--kind "bucket": expected KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws',
      '--kind "Bucket": expected KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws',
      '--kind "Pod.core.example.com": core.example.com is not a group of ACK resources; expected a group that ends in '
        + ".services.k8s.aws, as in Bucket.s3.services.k8s.aws",
      '--label "tier": expected KEY=VALUE, such as tier=gold',
      '--label "=x": the name part of a label key must not be empty',
      "--label \"a=b c\": a label value must be empty or consist of letters, digits, '-', '_' and '.', and start and "
        + "end with a letter or digit",
      '--label "k=w": the key is repeated',
    ],
  );
  t.end();
});

test("accepts a label prefix, an empty label value and a version", (t) => {
  t.same(
    faults({ labels: ["example.com/tier=gold", "a=", "b=x"], kinds: [BUCKET, "Queue.v1alpha1.sqs.services.k8s.aws"] }),
    [],
  );
  t.end();
});

test("accepts kinds that refer to CAPA identities, and no other kind of CAPA", (t) => {
  const capa = "infrastructure.cluster.x-k8s.io";
  const described = { kinds: [`AWSCluster.${capa}`], namespace: "team-a", labels: [] };
  t.match(hypotheticalResources(described, inventory), [{
    group: capa, version: "v1beta2", kind: "AWSCluster", namespace: "team-a", name: null, written: null,
  }]);
  t.match(faults({ kinds: [`AWSMachine.${capa}`] }), [
    /^--kind "AWSMachine\.[a-z.0-9-]+": the kind has no identityRef; expected one of AWSCluster\./,
  ]);
  t.match(faults({ kinds: ["AWSCluster.controlplane.cluster.x-k8s.io"] }), [/the kind has no identityRef/]);
  t.match(faults({ kinds: ["IAMRoleSelectors.s3.services.k8s.aws"] }), [/is not a kind of ACK resources; is it/]);
  t.end();
});
