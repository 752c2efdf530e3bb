import path from "node:path";
import { stringify } from "yaml";
import { field, isJsonObject, stringAt } from "../../../shared/formats/json.ts";
import { CHART, NAMESPACE, objectsIn, RELEASE, withHelm } from "../chart/helm.ts";
import { findFlux, readGitOps } from "./argo-cd.ts";

withHelm("Flux can read the objects of manifests/gitops, whose values render a release", async (t, helm) => {
  const flux = await findFlux(t);
  if (flux === null) return;
  const [namespace, ...objects] = objectsIn(await readGitOps("flux.yaml"));
  t.equal(stringAt(namespace, "metadata", "name"), NAMESPACE);
  t.same(objects.map(({ kind }) => kind), ["HelmRepository", "HelmRelease"]);
  for (const one of objects) t.equal(await flux.faultOf(stringify(one)), "");
  const [, release = {}] = objects;
  const misspelled = { ...release, spec: { ...spec(release), value: {} } };
  t.match(await flux.faultOf(stringify(misspelled)), 'unknown field "value"');
  const folder = t.testdir({ "values.yaml": stringify(spec(release)["values"]) });
  const { code, stdout, stderr } = await helm([
    "template", RELEASE, CHART, "--namespace", NAMESPACE, "--kube-version", "1.30.0",
    "--values", path.join(folder, "values.yaml"),
  ]);
  t.same([code, stderr], [0, ""]);
  t.match(stdout, "failurePolicy: Fail");
});

function spec(object: object): Readonly<Record<string, unknown>> {
  const found = field(object, "spec");
  return isJsonObject(found) ? found : {};
}
