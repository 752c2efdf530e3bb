import { test } from "tap";
import { LIMITS } from "../../../shared/core/limits.ts";
import { parseReviewBody, type ReviewBody } from "../../../webhook/body/parse.ts";

const MAX_VALUES = LIMITS.reviewValues.value;
const EXCESS = `the review has more than ${MAX_VALUES} values`;
const HEAD = { uid: "u-1", name: 'a "quoted" object', operation: "CREATE", userInfo: { extra: { object: ["x"] } } };

/** Returns a review whose request starts with the fields in `head`, followed by the other fields. */
function bodyOf(fields: string, head = JSON.stringify(HEAD).slice(0, -1)): Buffer {
  return Buffer.from(`{"kind":"AdmissionReview","request":${head}${fields}}}`);
}

function parse(bytes: Buffer): ReviewBody {
  return parseReviewBody({ bytes, missing: null });
}

function listOf(values: number): string {
  return `[${Array.from({ length: values }, () => '"a\\\\"').join(",")}]`;
}

test("parses a review that has exactly the limit of values", (t) => {
  // `others` counts the review, its request, `userInfo`, `extra`, the list in `extra` and the list of the object.
  const others = bodyOf(',"object":[]').toString().match(/[,[{]/g)?.length ?? 0;
  const most = MAX_VALUES - others + 1;
  const { json, excess } = parse(bodyOf(`,"object":${listOf(most)}`));
  t.equal(excess, null);
  t.match(json, { kind: "AdmissionReview", request: HEAD });
  const over = parse(bodyOf(`,"object":${listOf(most + 1)}`));
  t.same(over, { json: { kind: "AdmissionReview", request: HEAD }, excess: EXCESS, isDiscarded: false });
  t.end();
});

test("parses only the fields before the objects if the review has too many values", (t) => {
  const values = listOf(MAX_VALUES + 1);
  const reviews = [
    `,"object":${values}`, `,\n "object" : ${values}`, `,"object":null,"oldObject":${values}`, `,"oldObject":${values}`,
    `,"object":{"object":1},"oldObject":{"object":${values}},"dryRun":true`, `,"object":${"[".repeat(MAX_VALUES * 2)}`,
    `,"object":{"a":"\\\\","b":${values}},"oldObject":"\\"object\\":"`,
  ];
  for (const fields of reviews) {
    const { json, excess } = parse(bodyOf(fields));
    t.same({ json, excess }, { json: { kind: "AdmissionReview", request: HEAD }, excess: EXCESS }, fields.slice(0, 40));
  }
  t.end();
});

test("rejects a review that has too many values before the objects", (t) => {
  const error = { code: "ERR_REQUEST_TOO_LARGE", message: /more than 50000 values, and request.object precedes/ };
  const values = listOf(MAX_VALUES + 1);
  for (const body of [bodyOf(`,"object":1}}`, `{"uid":${values}`), Buffer.from(values)]) {
    t.throws(() => parse(body), error);
  }
  t.end();
});

test("does not parse the user of a review if the user has too many groups or extra fields", (t) => {
  const head = '{"uid":"u-1","operation":"UPDATE"';
  const { json, excess } = parse(bodyOf(`,"userInfo":{"groups":${listOf(MAX_VALUES + 1)}},"object":{}`, head));
  t.same({ json, excess }, {
    json: { kind: "AdmissionReview", request: { uid: "u-1", operation: "UPDATE" } }, excess: EXCESS,
  });
  t.end();
});

test("counts an empty object or list as one value, like the limit of objects", (t) => {
  const leaves = Array.from({ length: LIMITS.objectValues.value }, (_, i) => `"f:${i}":{}`).join(",");
  const { excess } = parse(bodyOf(`,"object":{"a":{${leaves}}},"oldObject":{"a":{${leaves}}}`));
  t.equal(excess, null);
  t.end();
});

test("does not count managedFields of the objects, and parses them as an empty list", (t) => {
  const many = JSON.stringify(Array.from({ length: MAX_VALUES }, (_, i) => ({ manager: `"]}${i}`, fieldsV1: {} })));
  const object = (managed: string): string => (
    `{"kind":"Bucket","metadata":{"name":"b","managedFields" : ${managed},"uid":"u"},"spec":{"managedFields":[1]}}`
  );
  const { json, excess } = parse(bodyOf(`,"object":${object(many)},"oldObject":${object(many)},"dryRun":true`));
  t.equal(excess, null);
  const parsed: unknown = JSON.parse(object("[]"));
  t.same(json, {
    kind: "AdmissionReview", request: { ...HEAD, object: parsed, oldObject: parsed, dryRun: true },
  });
  t.end();
});

test("counts lists named managedFields outside of the metadata of the objects", (t) => {
  const values = listOf(MAX_VALUES + 1);
  for (const fields of [
    `,"object":{"spec":{"managedFields":${values}}}`, `,"object":{"managedFields":${values}}`,
    `,"object":{"metadata":{"annotations":{"managedFields":${values}}}}`,
    `,"object":{"metadata":{"a":"managedFields","b":${values}}}`,
    `,"object":[{"metadata":{"managedFields":${values}}}]`,
    `,"object":{"metadata":{"managedFields":{"a":${values}}}}`,
    `,"options":{"metadata":{"managedFields":${values}}},"object":{}`,
  ]) t.equal(parse(bodyOf(fields)).excess, EXCESS, fields.slice(0, 60));
  t.end();
});

test("parses only the fields before the objects if the body is incomplete", (t) => {
  const excess = `the review is larger than ${LIMITS.reviewBytes.value} bytes`;
  const head = JSON.stringify(HEAD).slice(0, -1);
  const bytes = Buffer.from(`{"kind":"AdmissionReview","request":${head},"object":{"a":"${"x".repeat(MAX_VALUES)}`);
  t.same(parseReviewBody({ bytes, missing: "too large" }), {
    json: { kind: "AdmissionReview", request: HEAD }, excess, isDiscarded: false,
  });
  t.same(parseReviewBody({ bytes, missing: "discarded" }), {
    json: { kind: "AdmissionReview", request: HEAD }, excess: null, isDiscarded: true,
  });
  const unknown = { bytes: Buffer.from(`{"a":"${"x".repeat(MAX_VALUES)}`), missing: "too large" } as const;
  t.throws(() => parseReviewBody(unknown), { code: "ERR_REQUEST_TOO_LARGE", message: /larger than 7340032 bytes/ });
  t.end();
});

test("parses a long review that has few values, even if its strings contain brackets and quotes", (t) => {
  for (const text of ["{", "[,", '"', "\\", '\\"', "\u2028é", '"object":']) {
    const long = text.repeat(MAX_VALUES);
    const { json, excess } = parse(bodyOf(`,"object":{"a":${JSON.stringify(long)}}`));
    t.equal(excess, null, text);
    t.match(json, { request: { object: { a: long } } }, text);
  }
  t.end();
});

test("accepts keys that are special in JavaScript as own properties", (t) => {
  const { json } = parse(bodyOf(',"object":{"__proto__":{"a":1},"constructor":{"prototype":1}}'));
  t.equal(JSON.stringify(json).includes('"__proto__":{"a":1}'), true);
  t.end();
});

test("rejects a body that is empty or not JSON", (t) => {
  const empty = { code: "ERR_REQUEST_MALFORMED", message: /^The body is empty/ };
  t.throws(() => parse(Buffer.alloc(0)), empty);
  t.throws(() => parse(Buffer.from("null")), empty);
  const invalid = { code: "ERR_REQUEST_MALFORMED", message: /^The body is not JSON/ };
  for (const text of ["{", "kind: AdmissionReview", `"${"a".repeat(MAX_VALUES)}`, "]".repeat(MAX_VALUES + 1)]) {
    t.throws(() => parse(Buffer.from(text)), invalid, text.slice(0, 10));
  }
  t.end();
});
