import { test } from "tap";
import { parseQuestion } from "../../../shared/trust/question-json.ts";

const ARNS = { principalArn: "p", roleArn: "r" };

test("reads a question", async (t) => {
  t.same(parseQuestion(JSON.stringify(ARNS)), {
    principalARN: "p", roleARN: "r",
    parameters: {
      externalID: null, sourceIdentity: null, sessionName: null, durationSeconds: null, tags: new Map(),
      transitiveTagKeys: [],
    },
  });
  const all = {
    ...ARNS, externalId: "x", sourceIdentity: null, roleSessionName: "s", durationSeconds: 900, tags: { a: "b" },
    transitiveTagKeys: ["a"],
  };
  t.same(parseQuestion(JSON.stringify(all)).parameters, {
    externalID: "x", sourceIdentity: null, sessionName: "s", durationSeconds: 900, tags: new Map([["a", "b"]]),
    transitiveTagKeys: ["a"],
  });
  const listed = { ...ARNS, tags: [{ Key: "a", Value: "b" }] };
  t.same(parseQuestion(JSON.stringify(listed)).parameters.tags, new Map([["a", "b"]]));
});

test("rejects what is not a question", async (t) => {
  const message = (fields: unknown): string => {
    try {
      parseQuestion(typeof fields === "string" ? fields : JSON.stringify({ ...ARNS, ...Object(fields) }));
      return "";
    } catch (error) {
      return String(error);
    }
  };
  t.match(message("{"), /the line is not a JSON object/);
  t.match(message("[]"), /the line is not a JSON object/);
  t.match(message({ externalID: "x" }), /unknown key "externalID"; expected principalArn, roleArn, externalId/);
  t.match(message({ roleArn: null }), /roleArn is missing/);
  t.match(message({ externalId: 1 }), /externalId is not a text/);
  t.match(message({ durationSeconds: "900" }), /durationSeconds is not a number/);
  t.match(message({ transitiveTagKeys: "a" }), /transitiveTagKeys is not a list of texts/);
  for (const tags of ["a", { a: 1 }, ["a"], [{ Key: "a" }], [{ Key: "a", Value: "1" }, { Key: "a", Value: "2" }]]) {
    t.match(message({ tags }), /tags are not texts with different keys/, JSON.stringify(tags));
  }
});
