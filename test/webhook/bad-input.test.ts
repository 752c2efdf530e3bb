import { REACHED } from "../../shared/core/installation.ts";
import { KINDS } from "../../shared/kinds.ts";
import { test } from "tap";
import { fixture } from "./reviews.ts";
import { webhookUnderTest } from "./webhook-under-test.ts";

const PATHS = [
  "/mutate/iamroleselectors",
  "/validate/iamroleselectors",
  "/mutate/resources",
  "/validate/namespaces",
  "/validate/configmaps",
  "/validate/fieldexports",
  "/validate/adoptedresources",
  "/validate/identities",
  "/mutate/clusters",
  "/validate/clusters",
];
const MIB = 1024 * 1024;

function changed(change: (request: Record<string, unknown>) => void): string {
  const review = fixture("selector-create");
  change(review.request);
  return JSON.stringify(review);
}

const EMPTY = "The body is empty. Send an AdmissionReview of admission.k8s.io/v1 as JSON.";
const NOT_JSON = "The body is not JSON. Send an AdmissionReview of admission.k8s.io/v1 as JSON.";
const EXPECTED = 'Send apiVersion "admission.k8s.io/v1" and kind "AdmissionReview".';
const V1BETA1 = { ...fixture("selector-create"), apiVersion: "admission.k8s.io/v1beta1" };

const MALFORMED: readonly (readonly [name: string, body: string, message: string])[] = [
  ["an empty body", "", EMPTY],
  ["JSON null", "null", EMPTY],
  ["a body that is not JSON", "kind: AdmissionReview", NOT_JSON],
  ["truncated JSON", `{"kind": "AdmissionReview"`, NOT_JSON],
  ["an array", "[]", `The body has apiVersion "" and kind "". ${EXPECTED}`],
  [
    "a review of another API version",
    JSON.stringify(V1BETA1),
    `The body has apiVersion "admission.k8s.io/v1beta1" and kind "AdmissionReview". ${EXPECTED}`,
  ],
  [
    "an object of another kind",
    `{"apiVersion": "admission.k8s.io/v1", "kind": "Pod\\n"}`,
    `The body has apiVersion "admission.k8s.io/v1" and kind "Pod\\n". ${EXPECTED}`,
  ],
  [
    "a review that has no request",
    JSON.stringify({ ...fixture("selector-create"), request: null }),
    "The field request must be an object.",
  ],
  ["a request that has no uid", changed((request) => delete request["uid"]), "request.uid must be a non-empty string."],
  [
    "a request whose uid is empty",
    changed((request) => (request["uid"] = "")),
    "request.uid must be a non-empty string.",
  ],
  [
    "a request that has no kind",
    changed((request) => delete request["kind"]),
    "request.kind.version must be a non-empty string.",
  ],
  [
    "an unknown operation",
    changed((request) => (request["operation"] = "READ")),
    "request.operation must be one of CREATE, UPDATE, DELETE, CONNECT.",
  ],
  [
    "an object that is an array",
    changed((request) => (request["object"] = [])),
    "request.object must be an object or null.",
  ],
  [
    "an old object that is a string",
    changed((request) => (request["oldObject"] = "x")),
    "request.oldObject must be an object or null.",
  ],
];

function status(code: number, reason: string, message: string): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}

for (const [name, body, message] of MALFORMED) {
  test(`rejects ${name} with status 400, and the message states what is expected`, async (t) => {
    const webhook = webhookUnderTest();
    const responses = await Promise.all(PATHS.map((path) => webhook.post(path, body)));
    for (const response of responses) {
      t.equal(response.status, 400);
      t.equal(response.type, "application/json");
      t.same(response.json, status(400, "BadRequest", `ERR_REQUEST_MALFORMED: ${message}`));
    }
    const line = { msg: "admission review failed", answer: "error", codes: ["ERR_REQUEST_MALFORMED"], fault: message };
    t.match(webhook.lines[0], line);
    const next = await webhook.post("/validate/iamroleselectors", fixture("selector-create"));
    t.equal(next.status, 200, "the next review succeeds");
  });
}

test("reads the objects of a review of 7 MiB, and denies a larger review without reading its objects", async (t) => {
  const webhook = webhookUnderTest();
  const fits = await webhook.post("/validate/iamroleselectors", padded(7 * MIB));
  t.match(fits.json, { response: { allowed: false, status: { message: /^IRS-0/ } } });
  for (const bytes of [7 * MIB + 1, 20 * MIB, 65 * MIB]) {
    const { json } = await webhook.post("/validate/iamroleselectors", padded(bytes));
    const message = /^IRS-48 : the review is larger than 7340032 bytes/;
    t.match(json, { response: { allowed: false, status: { message } } });
  }
});

test("rejects a body that is too large and does not identify a request with status 413", async (t) => {
  const webhook = webhookUnderTest();
  const { status: code, json } = await webhook.post("/validate/iamroleselectors", Buffer.alloc(64 * MIB + 1));
  t.equal(code, 413);
  const message = "ERR_REQUEST_TOO_LARGE: The request cannot be identified: the review is larger than 7340032 bytes, "
    + "and request.object precedes other fields.";
  t.same(json, status(413, "RequestEntityTooLarge", message));
});

/** Returns a review of the given length. The padding follows the fields that identify the request. */
function padded(bytes: number): string {
  const text = JSON.stringify({ ...fixture("selector-create-malformed"), padding: "" });
  return text.replace(`"padding":""`, `"padding":"${"x".repeat(bytes - text.length)}"`);
}

test("rejects a content type that is not application/json with status 415", async (t) => {
  const { app } = webhookUnderTest();
  for (const type of ["application/yaml", "text/plain", "application/jsonx", "multipart/form-data"]) {
    const headers = { "content-type": type };
    const response = await app.inject({ method: "POST", url: "/mutate/resources", headers, payload: "{}" });
    t.equal(response.statusCode, 415, type);
    const message = "The Content-Type is not application/json. Send an AdmissionReview as application/json.";
    t.same(response.json(), status(415, "UnsupportedMediaType", `ERR_REQUEST_MEDIA_TYPE: ${message}`));
  }
  const headers = { "content-type": "application/json; charset=utf-8" };
  const payload = JSON.stringify(fixture("bucket-delete"));
  const response = await app.inject({ method: "POST", url: "/mutate/resources", headers, payload });
  t.equal(response.statusCode, 200, "a parameter of the media type is accepted");
});

function withKeys(name: string): string {
  const keys = `"__proto__":{"arn":"x"},"constructor":{"prototype":{"y":1}},`;
  return JSON.stringify(fixture(name)).replace(`"spec":{`, `"spec":{${keys}`);
}

test("treats keys that are special in JavaScript, such as __proto__, as ordinary keys", async (t) => {
  const webhook = webhookUnderTest();
  const bucket = await webhook.post("/mutate/resources", withKeys("bucket-create-selected"));
  t.equal(bucket.text, (await webhook.post("/mutate/resources", fixture("bucket-create-selected"))).text);
  const denied = await webhook.post("/validate/iamroleselectors", withKeys("selector-create"));
  t.match(denied.json, {
    response: {
      allowed: false,
      status: { details: { causes: [{ field: "spec.__proto__" }, { field: "spec.constructor" }] } },
    },
  });
  const root = JSON.stringify(fixture("selector-create")).replace("{", `{"__proto__":{"kind":"Pod"},"constructor":1,`);
  t.match((await webhook.post("/validate/iamroleselectors", root)).json, { response: { allowed: true } });
});

test("rejects a truncated body with status 400", async (t) => {
  const { app } = webhookUnderTest();
  const payload = JSON.stringify(fixture("bucket-delete"));
  const headers = { "content-type": "application/json", "content-length": String(payload.length + 1) };
  const response = await app.inject({ method: "POST", url: "/mutate/resources", headers, payload });
  t.equal(response.statusCode, 400);
  const message = "ERR_REQUEST_MALFORMED: The length of the body differs from the Content-Length header.";
  t.same(response.json(), status(400, "BadRequest", message));
});

test("denies an object that is nested too deeply, and still serves the next review", async (t) => {
  const webhook = webhookUnderTest();
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const review = JSON.stringify(fixture("selector-update-old-faults"));
  const update = review.replaceAll(`"arn":"not-an-arn"`, `"arn":${deep}`);
  const { status: code, json } = await webhook.post("/validate/iamroleselectors", update);
  t.match([code, json], [200, { response: { allowed: false, status: { message: /^IRS-48 / } } }]);
  t.equal((await webhook.post("/validate/iamroleselectors", fixture("selector-create"))).status, 200);
});

test("returns status 404 and the valid paths for an unknown path, and 405 for a method other than POST", async (t) => {
  const { app } = webhookUnderTest();
  const path = await app.inject({ method: "POST", url: "/validate/nothing?timeout=1s", payload: {} });
  const mutating = "/mutate/iamroleselectors, /mutate/resources, /mutate/clusters, /mutate/pods";
  const validating = [...new Set(KINDS.flatMap(({ path: one }) => one ?? []))].map((one) => `/validate/${one}`);
  const paths = [mutating, ...validating, "/validate/reached"].join(", ");
  const notFound = `ERR_REQUEST_NOT_FOUND: The path does not exist. The valid paths are ${paths}.`;
  t.same(path.json(), status(404, "NotFound", notFound));
  t.equal(path.statusCode, 404);
  const method = await app.inject({ method: "GET", url: "/mutate/resources?timeout=1s" });
  const notAllowed = "ERR_REQUEST_METHOD: /mutate/resources accepts only POST.";
  t.same(method.json(), status(405, "MethodNotAllowed", notAllowed));
  t.equal(method.statusCode, 405);
  t.equal(method.headers.allow, "POST");
});

test("tells the API server that it is reached, before the inventory is loaded too", async (t) => {
  const webhook = webhookUnderTest();
  webhook.source.unload();
  const { status: code, json } = await webhook.post(REACHED.path, fixture("selector-create"));
  t.match([code, json], [200, { response: { allowed: true, warnings: [REACHED.warning] } }]);
});

test("returns a Kubernetes Status object for errors of the HTTP framework", async (t) => {
  const { app } = webhookUnderTest();
  const headers = { "content-type": "application/json" };
  const broken = await app.inject({ method: "POST", url: "/validate/%zz", headers, payload: "{}" });
  t.equal(broken.statusCode, 400);
  t.equal(broken.headers["content-type"], "application/json");
  const message = "ERR_REQUEST_MALFORMED: The percent-encoding of the path is invalid. Write each % as %25.";
  t.match(broken.json(), { kind: "Status", code: 400, message });
  const empty = await app.inject({ method: "OPTIONS", url: "/validate/iamroleselectors", headers });
  t.equal(empty.headers["content-type"], "application/json");
  t.match(empty.json(), { kind: "Status", reason: /^(BadRequest|MethodNotAllowed)$/ });
});
