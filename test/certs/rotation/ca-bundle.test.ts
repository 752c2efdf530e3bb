import { test } from "tap";
import fastJSONPatch, { type Operation } from "fast-json-patch";
import { field, isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { mutatingWebhooks, validatingWebhooks } from "../../../manifests/webhooks.ts";
import { bundleChanges, caBundle, trustedCAs } from "../../../certs/rotation/ca-bundle.ts";
import type { TestedOperation } from "../../../certs/rotation/watched-objects.ts";
import { makeCertificates } from "../../../certs/make.ts";
import { authority, makeCA, stored } from "./stored.ts";

const OPTIONS = {
  namespace: "ns", url: null, ackSystemNamespace: "ack-system", caBundle: null, ackGroups: [],
} as const;
const HOST = "ack-role-resolver-webhook.ns.svc";
const [ca, next, previous] = await Promise.all([makeCA(), makeCA(), makeCA()]);
const BUNDLE = ca.cert + next.cert;
const BASE64 = Buffer.from(BUNDLE).toString("base64");

function configuration(...clientConfigs: readonly object[]): JsonObject {
  return { webhooks: clientConfigs.map((clientConfig, index) => ({ name: `${index}.example.com`, clientConfig })) };
}

/** Returns the object without undefined fields, as the API server stores it. */
function asStored(object: object): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(object));
  return isJsonObject(copy) ? copy : {};
}

function bundlePatch(...input: Parameters<typeof bundleChanges>): TestedOperation[] {
  return bundleChanges(...input).flatMap(({ patch }) => patch);
}

function patched(before: JsonObject, patch: readonly TestedOperation[]): JsonObject {
  const operations: Operation[] = patch.map((one) => ({ ...one }));
  return fastJSONPatch.applyPatch(before, operations, true, false).newDocument;
}

test("the caBundle contains each CA once, and the current CA first", (t) => {
  t.equal(caBundle(stored({ ca: null })), "");
  t.equal(caBundle(stored({ ca: authority(ca) })), ca.cert);
  const rotating = stored({ ca: authority(ca), next: authority(next), previous: [previous.cert, ca.cert] });
  t.equal(caBundle(rotating), ca.cert + next.cert + previous.cert);
  t.end();
});

test("the patch sets the caBundle of each printed webhook, and is empty afterwards", (t) => {
  for (const print of [mutatingWebhooks, validatingWebhooks]) {
    const before = asStored(print(OPTIONS));
    const after = patched(before, bundlePatch(before, BUNDLE, [HOST]));
    t.same(after, asStored(print({ ...OPTIONS, caBundle: BUNDLE })));
    t.same(bundlePatch(after, BUNDLE, [HOST]), []);
  }
  t.end();
});

test("the patch changes only webhooks that call a name of the webhook", (t) => {
  const service = { namespace: "ns", name: "ack-role-resolver-webhook", path: "/a" };
  const object = configuration(
    { service }, { service: { ...service, namespace: "other" } }, { url: "https://10.0.0.1:9443/a" },
    { url: "https://[fd00::1]/a" }, { url: "https://example.com/a" }, { service, caBundle: BASE64 }, {},
  );
  const patch = bundlePatch(object, BUNDLE, [HOST, "10.0.0.1", "fd00::1"]);
  t.same(patch.filter(({ op }) => op === "add").map(({ path }) => path), [
    "/webhooks/0/clientConfig/caBundle", "/webhooks/2/clientConfig/caBundle", "/webhooks/3/clientConfig/caBundle",
  ]);
  t.same(patch.slice(0, 3), [
    { op: "test", path: "/webhooks/0/name", value: "0.example.com" },
    { op: "test", path: "/webhooks/0/clientConfig/service", value: service },
    { op: "add", path: "/webhooks/0/clientConfig/caBundle", value: BASE64 },
  ]);
  t.same(bundlePatch({}, BUNDLE, [HOST]), [], "a configuration without webhooks");
  t.end();
});

test("the patch fails if the webhooks moved meanwhile", (t) => {
  const object = configuration({ url: `https://${HOST}` }, { url: "https://example.com" });
  const patch = bundlePatch(object, BUNDLE, [HOST]);
  const webhooks = field(object, "webhooks");
  const moved = { webhooks: Array.isArray(webhooks) ? webhooks.toReversed() : [] };
  t.throws(() => patched(moved, patch), { name: "TEST_OPERATION_FAILED" });
  t.end();
});

test("a change tells a webhook without a caBundle from a webhook with another one", (t) => {
  const url = `https://${HOST}`;
  const object = configuration({ url }, { url, caBundle: "" }, { url, caBundle: btoa(ca.cert) });
  const changes = bundleChanges(object, BUNDLE, [HOST]).map(({ name, isEmpty }) => ({ name, isEmpty }));
  t.same(changes, [
    { name: "0.example.com", isEmpty: true }, { name: "1.example.com", isEmpty: true },
    { name: "2.example.com", isEmpty: false },
  ]);
  t.end();
});

test("trustedCAs returns each CA with name constraints once, and ignores invalid caBundles", async (t) => {
  const url = `https://${HOST}`;
  const { ca: other } = await makeCertificates({ hosts: [HOST], now: new Date() });
  const objects = [
    configuration({ url, caBundle: btoa(other) }),
    configuration({ url, caBundle: BASE64 }, { url, caBundle: "?" }, { url }),
    configuration({ url, caBundle: Buffer.from(ca.cert).toString("base64") }, { url: "https://a", caBundle: BASE64 }),
  ];
  t.same(trustedCAs(objects, [HOST]), [ca.cert, next.cert]);
});
