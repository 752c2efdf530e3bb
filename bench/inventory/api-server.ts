/**
 * A fake API server. It lists a large cluster in pages, sends no watch events, and prints its port. The argument is a
 * ClusterSize as JSON.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTLSServer } from "node:https";
import path from "node:path";
import process from "node:process";
import { ACK_GROUPS } from "../../shared/core/ack-groups.ts";
import type { ClusterSize } from "./fake-cluster.ts";

const [argument = "{}"] = process.argv.slice(2);
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the benchmark passes a ClusterSize
const { selectors, namespaces, kinds = 0, resources = 0, tlsDir } = JSON.parse(argument) as ClusterSize;
const BYTES_PER_OBJECT = 4096;
const GROUPS = ACK_GROUPS.slice(0, kinds);

interface Collection {
  readonly count: number;
  readonly object: (i: number) => object;
}

const COLLECTIONS: ReadonlyMap<string, Collection> = new Map([
  ["/apis/services.k8s.aws/v1alpha1/iamroleselectors", { count: selectors, object: selector }],
  ["/api/v1/namespaces", { count: namespaces, object: namespace }],
  ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { count: kinds, object: definition }],
  ...GROUPS.map((group): [string, Collection] => [
    `/apis/${group}/v1alpha1/things`, { count: resources / kinds, object: resource },
  ]),
]);

function metadata(name: string, i: number, more: object = {}): object {
  return {
    name, uid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`, resourceVersion: String(1_000_000 + i),
    generation: 1, creationTimestamp: "2026-01-01T00:00:00Z", ...more,
  };
}

function selector(i: number): object {
  const arn = `arn:aws:iam::${String(100_000_000_000 + i)}:role/ack-team-${i}`;
  const namespaceSelector = { names: [`team-${i % namespaces}`] };
  return { metadata: metadata(`selector-${i}`, i), spec: { arn, namespaceSelector } };
}

function namespace(i: number): object {
  const labels = { "kubernetes.io/metadata.name": `team-${i}`, "team": `team-${i % 500}`, "env": "prod" };
  return { metadata: metadata(`team-${i}`, i, { labels }), status: { phase: "Active" } };
}

function definition(i: number): object {
  const group = GROUPS[i] ?? "";
  const versions = [{ name: "v1alpha1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }];
  return {
    metadata: metadata(`things.${group}`, i),
    spec: { group, scope: "Namespaced", names: { kind: "Thing", plural: "things" }, versions },
    status: { conditions: [{ type: "Established", status: "True" }] },
  };
}

/** Returns a resource that has the status of a controller and the annotations of the webhook. */
function resource(i: number): object {
  const account = String(100_000_000_000 + (i % selectors));
  const annotations = {
    "services.k8s.aws/region": "eu-west-1",
    "ack-role-resolver.io/outcome": "selected",
    "ack-role-resolver.io/via": "selector",
    "ack-role-resolver.io/selector": `team-${i % selectors}`,
    "ack-role-resolver.io/selector-resource-version": String(1_000_000 + (i % selectors)),
    "ack-role-resolver.io/role-arn": `arn:aws:iam::${account}:role/ack-team-${i % selectors}`,
    "ack-role-resolver.io/reason": `IAMRoleSelector team-${i % selectors} selects the resource.`,
  };
  const labels = {
    "app.kubernetes.io/name": "shop", "app.kubernetes.io/instance": `shop-${i % 1000}`,
    "app.kubernetes.io/managed-by": "Helm", "team": `team-${i % 500}`,
  };
  return {
    metadata: metadata(`thing-${i}`, i, { namespace: `team-${i % namespaces}`, labels, annotations }),
    spec: { name: `thing-${i}`, tags: [{ key: "team", value: `team-${i % 500}` }] },
    status: {
      ackResourceMetadata: {
        arn: `arn:aws:service:eu-west-1:${account}:thing/${i}`, ownerAccountID: account, region: "eu-west-1",
      },
      conditions: [{
        type: "ACK.ResourceSynced", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z",
        message: "Resource synced successfully", reason: "",
      }],
    },
  };
}

/** Adds managedFields, so that the object has a realistic size: in most objects, managedFields are the largest part. */
function filled(object: object): string {
  const text = JSON.stringify(object);
  let filling = "";
  for (let i = 0; text.length + filling.length < BYTES_PER_OBJECT - 100; i++) {
    filling += `"f:field${i}":{"f:name":{},"f:value":{}},`;
  }
  const fields = `{${filling}"f:last":{}}`;
  const managedFields = `"managedFields":[{"manager":"controller","operation":"Update","fieldsV1":${fields}}]`;
  return text.replace('{"metadata":{', `{"metadata":{${managedFields},`);
}

function answerList(response: ServerResponse, { count, object }: Collection, query: URLSearchParams): void {
  const from = Number(query.get("continue") ?? 0);
  const to = Math.min(count, from + Number(query.get("limit") ?? count));
  const items = Array.from({ length: to - from }, (_, i) => filled(object(from + i)));
  const more = to < count ? `,"continue":"${to}"` : "";
  const listMetadata = `{"resourceVersion":"2000000"${more}}`;
  response.end(`{"kind":"List","apiVersion":"v1","metadata":${listMetadata},"items":[${items.join(",")}]}`);
}

const answer: RequestListener = (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
  const collection = COLLECTIONS.get(pathname);
  response.setHeader("content-type", "application/json");
  if (collection === undefined) response.writeHead(404).end();
  else if (searchParams.has("watch")) response.flushHeaders();
  else answerList(response, collection, searchParams);
};

function tls(dir: string): { readonly cert: Buffer; readonly key: Buffer } {
  return { cert: readFileSync(path.join(dir, "tls.crt")), key: readFileSync(path.join(dir, "tls.key")) };
}

const server = tlsDir === undefined ? createServer(answer) : createTLSServer(tls(tlsDir), answer);
await once(server.listen(0, "127.0.0.1"), "listening");
const address = server.address();
if (typeof address === "object" && address !== null) process.stdout.write(`${address.port}\n`);
