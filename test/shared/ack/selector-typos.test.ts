import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { selectorObject } from "../objects.ts";
import { checkChange, lineOf } from "../core/findings.ts";

interface Entry {
  readonly group?: string;
  readonly kind?: string;
  readonly version?: string;
  readonly namespace?: string;
  readonly account?: string;
}

/** Each row: a correct entry, and the same with one typo. They were written before their first run. */
const ROWS: readonly (readonly [correct: Entry, typo: Entry])[] = [
  [{ group: "dynamodb.services.k8s.aws" }, { group: "dynamo.services.k8s.aws" }],
  [{ group: "dynamodb.services.k8s.aws" }, { group: "dynamobd.services.k8s.aws" }],
  [{ group: "s3.services.k8s.aws" }, { group: "S3.services.k8s.aws" }],
  [{ group: "s3.services.k8s.aws" }, { group: "s3.service.k8s.aws" }],
  [{ group: "sqs.services.k8s.aws" }, { group: "sqs.services.k8s.was" }],
  [{ group: "elasticache.services.k8s.aws" }, { group: "elasticcache.services.k8s.aws" }],
  [{ group: "eventbridge.services.k8s.aws" }, { group: "eventbrige.services.k8s.aws" }],
  [{ group: "opensearchservice.services.k8s.aws" }, { group: "opensearch.services.k8s.aws" }],
  [{ group: "glue.services.k8s.aws" }, { group: "gleu.services.k8s.aws" }],
  [{ kind: "Bucket" }, { kind: "bucket" }],
  [{ kind: "Bucket" }, { kind: "Buckets" }],
  [{ kind: "DBInstance" }, { kind: "DbInstnace" }],
  [{ group: "dynamodb.services.k8s.aws", kind: "Table" }, { group: "dynamodb.services.k8s.aws", kind: "Tabel" }],
  [{ group: "lambda.services.k8s.aws", kind: "Function" }, { group: "lambda.services.k8s.aws", kind: "Fuction" }],
  [{ group: "iam.services.k8s.aws", kind: "Policy" }, { group: "iam.services.k8s.aws", kind: "Policies" }],
  [{ group: "ec2.services.k8s.aws", kind: "SecurityGroup" }, { group: "ec2.services.k8s.aws", kind: "Security-Group" }],
  [{ kind: "Bucket", version: "v1alpha1" }, { kind: "Bucket", version: "v1" }],
  [{ version: "v1alpha1" }, { version: "v1aplha1" }],
  [{ group: "s3.services.k8s.aws", version: "v1alpha1" }, { group: "s3.services.k8s.aws", version: "V1alpha1" }],
  [{ namespace: "payments" }, { namespace: "Payments" }],
  [{ namespace: "payments-eu" }, { namespace: "payments_eu" }],
  [{ namespace: "payments" }, { namespace: "payments " }],
  [{ account: "111122223333" }, { account: "11112222333" }],
  [{ account: "111122223333" }, { account: "1111222233333" }],
  [{ account: "111122223333" }, { account: "11112222333O" }],
];

function selectorOf({ namespace = "team-a", account = "111122223333", ...type }: Entry): JsonObject {
  return selectorObject("team-a", {
    arn: `arn:aws:iam::${account}:role/team-a`, namespaceSelector: { names: [namespace] },
    ...(Object.keys(type).length > 0 && { resourceTypeSelector: [{ group: "", version: "", kind: "", ...type }] }),
  });
}

test("one typo in a selector is found in files without flags, and the correct selector has no finding", (t) => {
  t.equal(ROWS.length, 25);
  for (const [correct, typo] of ROWS) {
    const [right, wrong] = [correct, typo].map((entry) => checkChange(selectorOf(entry), { origin: "file" }));
    const what = JSON.stringify(typo);
    t.same(right?.findings.map(lineOf), [], `neighbor of ${what}`);
    t.ok(wrong?.denied, `${what}: ${wrong?.findings.map(lineOf).join("\n")}`);
  }
  t.end();
});
