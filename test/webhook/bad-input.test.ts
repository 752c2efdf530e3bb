import { test } from "tap";
import { fixture } from "./reviews.ts";
import { webhookUnderTest } from "./webhook-under-test.ts";

const PATHS = ["/mutate/iamroleselectors", "/validate/iamroleselectors", "/mutate/resources", "/validate/namespaces", "/validate/configmaps"];
const MIB = 1024 * 1024;

function changed(change: (request: Record<string, unknown>) => void): string {
  const review = fixture("selector-create");
  change(review.request);
  return JSON.stringify(review);
}

const MALFORMED: readonly (readonly [name: string, body: string, message: string])[] = [
  ["an empty body", "", "the body is empty; expected an AdmissionReview of admission.k8s.io/v1 as JSON"],
  ["JSON null", "null", "the body is empty; expected an AdmissionReview of admission.k8s.io/v1 as JSON"],
  ["what is not JSON", "kind: AdmissionReview", "the body is not JSON; expected an AdmissionReview of admission.k8s.io/v1"],
  ["half a review", `{"kind": "AdmissionReview"`, "the body is not JSON; expected an AdmissionReview of admission.k8s.io/v1"],
  ["a list", "[]", `the body has apiVersion "" and kind ""; expected apiVersion "admission.k8s.io/v1" and kind "AdmissionReview"`],
  [
    "another version", JSON.stringify({ ...fixture("selector-create"), apiVersion: "admission.k8s.io/v1beta1" }),
    `the body has apiVersion "admission.k8s.io/v1beta1" and kind "AdmissionReview"; expected apiVersion "admission.k8s.io/v1" and kind "AdmissionReview"`,
  ],
  [
    "another kind", `{"apiVersion": "admission.k8s.io/v1", "kind": "Pod\\n"}`,
    `the body has apiVersion "admission.k8s.io/v1" and kind "Pod\\n"; expected apiVersion "admission.k8s.io/v1" and kind "AdmissionReview"`,
  ],
  ["no request", JSON.stringify({ ...fixture("selector-create"), request: null }), "the review has no request; expected an object at request"],
  ["no uid", changed((request) => delete request["uid"]), "request.uid: expected a string that is not empty"],
  ["an empty uid", changed((request) => (request["uid"] = "")), "request.uid: expected a string that is not empty"],
  ["no kind", changed((request) => delete request["kind"]), "request.kind.version: expected a string that is not empty"],
  ["an unknown operation", changed((request) => (request["operation"] = "READ")), "request.operation: expected one of CREATE, UPDATE, DELETE, CONNECT"],
  ["an object that is none", changed((request) => (request["object"] = [])), "request.object: expected an object or null"],
  ["an old object that is none", changed((request) => (request["oldObject"] = "x")), "request.oldObject: expected an object or null"],
];

function status(code: number, reason: string, message: string): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}

for (const [name, body, message] of MALFORMED) {
  test(`${name} is a 400 that says what was expected`, async (t) => {
    const webhook = webhookUnderTest();
    const answers = await Promise.all(PATHS.map((path) => webhook.post(path, body)));
    for (const answer of answers) {
      t.equal(answer.status, 400);
      t.equal(answer.type, "application/json");
      t.same(answer.json, status(400, "BadRequest", `ERR_REQUEST_MALFORMED: ${message}`));
    }
    t.match(webhook.lines[0], { msg: "admission review failed", answer: "error", codes: ["ERR_REQUEST_MALFORMED"], fault: message });
    t.equal((await webhook.post(PATHS[1] ?? "", fixture("selector-create"))).status, 200, "and the next one is answered");
  });
}

test("a review just under 7 MiB is judged, one over it is a 413", async (t) => {
  const webhook = webhookUnderTest();
  const review = fixture("selector-create-malformed");
  const padded = (bytes: number): string => {
    const text = JSON.stringify({ ...review, padding: "" });
    return text.replace(`"padding":""`, `"padding":"${"x".repeat(bytes - text.length)}"`);
  };
  const fits = await webhook.post("/validate/iamroleselectors", padded(7 * MIB));
  t.match(fits.json, { response: { allowed: false } });
  const over = [padded(7 * MIB + 1), padded(Math.round(7.1 * MIB))];
  for (const answer of await Promise.all(over.map((body) => webhook.post("/validate/iamroleselectors", body)))) {
    t.equal(answer.status, 413);
    const message = "ERR_REQUEST_TOO_LARGE: the body is larger than 7340032 bytes, which no AdmissionReview of the API server is";
    t.same(answer.json, status(413, "RequestEntityTooLarge", message));
  }
});

test("another media type, or none, is a 415", async (t) => {
  const { app } = webhookUnderTest();
  for (const type of ["application/yaml", "text/plain", "application/jsonx", "multipart/form-data"]) {
    const answer = await app.inject({ method: "POST", url: "/mutate/resources", headers: { "content-type": type }, payload: "{}" });
    t.equal(answer.statusCode, 415, type);
    const message = "ERR_REQUEST_MEDIA_TYPE: the body's Content-Type is not application/json; send an AdmissionReview as application/json";
    t.same(answer.json(), status(415, "UnsupportedMediaType", message));
  }
  const parameter = { "content-type": "application/json; charset=utf-8" };
  const answer = await app.inject({ method: "POST", url: "/mutate/resources", headers: parameter, payload: JSON.stringify(fixture("bucket-delete")) });
  t.equal(answer.statusCode, 200, "a parameter does not make it another type");
});

function withKeys(name: string): string {
  return JSON.stringify(fixture(name)).replace(`"spec":{`, `"spec":{"__proto__":{"arn":"x"},"constructor":{"prototype":{"y":1}},`);
}

test("keys that JavaScript knows are data: the object is admitted or refused like any other", async (t) => {
  const webhook = webhookUnderTest();
  const bucket = await webhook.post("/mutate/resources", withKeys("bucket-create-selected"));
  t.equal(bucket.text, (await webhook.post("/mutate/resources", fixture("bucket-create-selected"))).text);
  const refused = await webhook.post("/validate/iamroleselectors", withKeys("selector-create"));
  t.match(refused.json, {
    response: { allowed: false, status: { details: { causes: [{ field: "spec.__proto__" }, { field: "spec.constructor" }] } } },
  });
  const root = JSON.stringify(fixture("selector-create")).replace("{", `{"__proto__":{"kind":"Pod"},"constructor":1,`);
  t.match((await webhook.post("/validate/iamroleselectors", root)).json, { response: { allowed: true } });
});

test("a body that is cut short is a 400", async (t) => {
  const { app } = webhookUnderTest();
  const payload = JSON.stringify(fixture("bucket-delete"));
  const headers = { "content-type": "application/json", "content-length": String(payload.length + 1) };
  const answer = await app.inject({ method: "POST", url: "/mutate/resources", headers, payload });
  t.equal(answer.statusCode, 400);
  t.same(answer.json(), status(400, "BadRequest", "ERR_REQUEST_MALFORMED: the body's length is not what Content-Length says"));
});

test("an object nested too deep to judge is an error of that review alone", async (t) => {
  const webhook = webhookUnderTest();
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const update = JSON.stringify(fixture("selector-update-old-faults")).replaceAll(`"arn":"not-an-arn"`, `"arn":${deep}`);
  const { status: code, json } = await webhook.post("/validate/iamroleselectors", update);
  t.match([code, json], [500, { message: /^ERR_INTERNAL: / }]);
  t.equal((await webhook.post("/validate/iamroleselectors", fixture("selector-create"))).status, 200);
});

test("another path is a 404 that names the paths, another method a 405", async (t) => {
  const { app } = webhookUnderTest();
  const path = await app.inject({ method: "POST", url: "/validate/nothing?timeout=1s", payload: {} });
  const message = "there is no such path; the paths are /mutate/iamroleselectors, /validate/iamroleselectors, /mutate/resources, /validate/resources, /validate/namespaces, /validate/configmaps";
  t.same(path.json(), status(404, "NotFound", `ERR_REQUEST_NOT_FOUND: ${message}`));
  t.equal(path.statusCode, 404);
  const method = await app.inject({ method: "GET", url: "/mutate/resources?timeout=1s" });
  t.same(method.json(), status(405, "MethodNotAllowed", "ERR_REQUEST_METHOD: /mutate/resources takes POST and nothing else"));
  t.equal(method.statusCode, 405);
  t.equal(method.headers.allow, "POST");
});

test("what the framework refuses before any path is a Status as well", async (t) => {
  const { app } = webhookUnderTest();
  const broken = await app.inject({ method: "POST", url: "/validate/%zz", headers: { "content-type": "application/json" }, payload: "{}" });
  t.equal(broken.statusCode, 400);
  t.equal(broken.headers["content-type"], "application/json");
  t.match(broken.json(), { kind: "Status", code: 400, message: "ERR_REQUEST_MALFORMED: the path does not decode; a % in it stands before two hexadecimal digits" });
  const empty = await app.inject({ method: "OPTIONS", url: "/validate/iamroleselectors", headers: { "content-type": "application/json" } });
  t.equal(empty.headers["content-type"], "application/json");
  t.match(empty.json(), { kind: "Status", reason: /^(BadRequest|MethodNotAllowed)$/ });
});
