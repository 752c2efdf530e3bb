import { test } from "tap";
import { runCommand } from "./run-command.ts";

/** A selector whose role is in partition aws, a namespace with a default region, and two buckets. */
function manifests(defaultRegion: string): string {
  return `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team}
spec: {arn: "arn:aws:iam::444455556666:role/team", namespaceSelector: {names: [data]}}
---
apiVersion: v1
kind: Namespace
metadata: {name: data, annotations: {services.k8s.aws/default-region: "${defaultRegion}"}}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: b, namespace: data}
spec: {name: b-data}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: c, namespace: data, annotations: {services.k8s.aws/region: cn-north-1}}
spec: {name: c-data}
`;
}

async function denied(defaultRegion: string, ...flags: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await runCommand(["lint", ...flags, "-"], { stdin: manifests(defaultRegion) });
  return Array.from(stdout.matchAll(/deny (\S+ \S+ \S+)/g), ([, found = ""]) => found);
}

test("lint compares the role with the partition of the region of controllers, namespace and resource", async (t) => {
  const ofResource = "ACK-10 Bucket data/c";
  t.same(await denied("eu-west-1"), [ofResource]);
  t.same(await denied("eu-west-1", "--region", "us-east-1"), [ofResource]);
  t.same(await denied("us-gov-west-1"), ["NS-07 Namespace data", "ACK-10 Bucket data/b", ofResource]);
  t.same(await denied("", "--region", "cn-north-1"), ["IRS-04 IAMRoleSelector team", ofResource]);
  t.same(await denied("cn-north-1", "--region", "cn-north-1"), [
    "IRS-04 IAMRoleSelector team", "NS-07 Namespace data", "ACK-10 Bucket data/b", ofResource,
  ]);
});
