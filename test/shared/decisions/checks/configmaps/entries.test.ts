import { test } from "tap";
import { kindObject } from "../../objects.ts";
import { CARM, dataLines, ONE, roleIn } from "../subjects.ts";

const ROLE = roleIn(ONE);
const settings = CARM;

test("CM-04: a key with a dot is of a service that there is", (t) => {
  const fix = "Write ID or SERVICE.ID with a service of ACK, such as s3.111122223333.";
  t.same(dataLines("CM-04", { [`frobnicator.${ONE}`]: ROLE }), [`warn CM-04 data[frobnicator.${ONE}]: "frobnicator" is no service of ACK. ${fix}`]);
  t.same(dataLines("CM-04", { [`dynamodbs.${ONE}`]: ROLE }), [`warn CM-04 data[dynamodbs.${ONE}]: "dynamodbs" is no service of ACK. Write dynamodb.${ONE}, if that is the service.`]);
  t.same(dataLines("CM-04", { "s3.": ROLE }), [`warn CM-04 data[s3.]: the key has no id after the dot. ${fix}`]);
  t.same(dataLines("CM-04", { [ONE]: ROLE, alias: ROLE, [`s3.${ONE}`]: ROLE, "s3.team.a": ROLE }), []);
  const installed = kindObject("Box", "warehouse.services.k8s.aws", [{ name: "v1", storage: true, served: true }]);
  t.same(dataLines("CM-04", { "warehouse.a": ROLE }, { known: [installed] }), []);
  t.end();
});

test("CM-13: keys of a service are told where nobody reads them", (t) => {
  t.same(dataLines("CM-13", { [`s3.${ONE}`]: ROLE, [ONE]: ROLE, "x.a": ROLE }, { settings }), [
    `warn CM-13 data[s3.${ONE}]: the key is for s3 alone, and ignored, since --service-level-carm is not on. Have the controllers run with ServiceLevelCARM, and say so with --service-level-carm, or remove the key.`,
  ]);
  t.same(dataLines("CM-13", { [`s3.${ONE}`]: ROLE }, { settings: { ...CARM, serviceLevelCARM: true } }), []);
  t.same(dataLines("CM-13", { [`s3.${ONE}`]: ROLE }), [], "in mode selectors CM-09 says it of the whole map");
  t.end();
});
