import type { JsonObject } from "../../../shared/formats/json.ts";
import { capaVersionIn } from "../../../shared/capa/kinds.ts";
import { testRows } from "../rows.ts";

const deployment = (image: string, namespace = "capa-system"): JsonObject => ({
  apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "capa-controller-manager", namespace },
  spec: { template: { spec: { containers: [{ image: "proxy:v1.0.0" }, { image }] } } },
});
const IMAGE = "registry.k8s.io/cluster-api-aws/cluster-api-aws-controller";

testRows("returns the version of the only CAPA", (objects: readonly JsonObject[]) => [String(capaVersionIn(objects))], [
  ["no object", [], "null"],
  ["a tag", [deployment(`${IMAGE}:v2.8.4`)], "v2.8.4"],
  ["a tag and a digest", [deployment(`${IMAGE}:v2.9.0-rc.1@sha256:00`)], "v2.9.0-rc.1"],
  ["the same twice", [deployment(`${IMAGE}:v2.8.4`), deployment(`${IMAGE}:v2.8.4`)], "v2.8.4"],
  ["two versions", [deployment(`${IMAGE}:v2.8.4`), deployment(`${IMAGE}:v2.9.0`)], "null"],
  ["no version", [deployment(`${IMAGE}:latest`)], "null"],
  ["another namespace, which a tenant may own", [deployment(`${IMAGE}:v2.8.4`, "team-a")], "null"],
  ["no template", [{ ...deployment(IMAGE), spec: {} }], "null"],
]);
