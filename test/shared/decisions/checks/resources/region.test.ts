import { test } from "tap";
import { isRegion, partitionOfRegion } from "../../../../../shared/decisions/kubernetes/arn.ts";
import { namespaceObject, selectorObject } from "../../objects.ts";
import { annotated, COMPANY, lines, owned, tiered } from "../resource-lines.ts";

const REGION = "services.k8s.aws/region";
const PATH = `metadata.annotations[${REGION}]`;
const FIX = "Write a region of the role's partition, such as eu-west-1, or leave the annotation out.";

test("ACK-10 refuses what is no region", (t) => {
  for (const region of ["Frankfurt", "eu_west_1", "eu-west", ""]) {
    t.same(lines("ACK-10", annotated({ [REGION]: region })), [`deny ACK-10 ${PATH}: "${region}" is not a region. ${FIX}`]);
  }
  t.same(lines("ACK-10", annotated({ [REGION]: "eu-west-1" })), []);
  t.same(lines("ACK-10", tiered("gold")), []);
  t.match(lines("ACK-10", annotated({ [REGION]: "x" }), { old: annotated({ [REGION]: "x" }) }), [/^warn/]);
  t.end();
});

test("ACK-10 refuses a region of another partition than the role's", (t) => {
  t.same(lines("ACK-10", annotated({ [REGION]: "cn-north-1" })), [`deny ACK-10 ${PATH}: "cn-north-1" is in the partition aws-cn, and its role in "aws". ${FIX}`]);
  t.same(lines("ACK-10", annotated({ [REGION]: "cn-north-1" }, tiered())), [], "whose role it is is not known");
  const china = [...COMPANY, selectorObject("china", { arn: "arn:aws-cn:iam::111122223333:role/gold", namespaceSelector: { names: ["team-a"] } })];
  t.same(lines("ACK-10", annotated({ [REGION]: "cn-north-1" }, tiered()), { known: china }), []);
  t.match(lines("ACK-10", annotated({ [REGION]: "eu-west-1" }, tiered()), { known: china }), [/in the partition aws, and its role in "aws-cn"/]);
  t.end();
});

test("ACK-10b refuses a step of a resource to another region", (t) => {
  const old = owned("111122223333");
  const drift = (region: string, by: string): string => (
    `deny ACK-10b ${PATH}: it exists in region "eu-west-1", and "${region}" is wanted (by the ${by}). Keep the region that it is in; a resource moves only by being made anew.`
  );
  t.same(lines("ACK-10b", annotated({ [REGION]: "us-east-1" }), { old }), [drift("us-east-1", "resource")]);
  t.same(lines("ACK-10b", annotated({ [REGION]: "eu-west-1" }), { old }), []);
  t.same(lines("ACK-10b", tiered("gold"), { old }), [], "what is wanted is not known");
  const settings = { region: "us-west-2" };
  t.same(lines("ACK-10b", tiered("gold"), { old: annotated({ [REGION]: "eu-west-1" }, old), settings }), [drift("us-west-2", "controller")], "the annotation that held it is gone");
  t.match(lines("ACK-10b", tiered("gold"), { old, settings }), [/^warn ACK-10b/], "the step changes nothing");
  const known = [...COMPANY, namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "us-east-2" })];
  t.match(lines("ACK-10b", tiered("gold"), { old, known }), [/"us-east-2" is wanted \(by the namespace\)/]);
  t.same(lines("ACK-10b", annotated({ [REGION]: "us-east-1" })), [], "at create it exists nowhere");
  t.end();
});

test("a region tells its partition", (t) => {
  const partitions = {
    "eu-west-1": "aws", "us-east-1": "aws", "cn-northwest-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b",
    "eu-isoe-west-1": "aws-iso-e", "us-isof-south-1": "aws-iso-f", "eusc-de-east-1": "aws-eusc",
  };
  for (const [region, partition] of Object.entries(partitions)) {
    t.ok(isRegion(region), region);
    t.equal(partitionOfRegion(region), partition, region);
  }
  t.end();
});
