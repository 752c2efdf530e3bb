import { type Test, test } from "tap";
import {
  ACCOUNT_MAP, existingBucket, FIRST, mapObject, namespaceObject, roleIn, TEAM_MAP,
} from "../../shared/objects.ts";
import { type CommandResult, runCommand } from "../run-command.ts";

const OWNER = "services.k8s.aws/owner-account-id";
const TEAM = "services.k8s.aws/team-id";
const BUCKET = existingBucket("b1", FIRST);

function yaml(...objects: readonly object[]): string {
  return objects.map((object) => JSON.stringify(object)).join("\n---\n");
}

/** Runs `impact` for a change of the annotations of the namespace of a bucket. */
async function impact(
  t: Test, [from, to]: readonly [from: object, to: object], flags: readonly string[] = [],
): Promise<CommandResult> {
  const maps = [
    mapObject(ACCOUNT_MAP, { [FIRST]: roleIn(FIRST) }), mapObject(TEAM_MAP, { blue: roleIn(FIRST, "blue") }),
  ];
  const dir = t.testdir({ "state.yaml": yaml(...maps, namespaceObject("team-a", {}, { ...from }), BUCKET) });
  const stdin = yaml(namespaceObject("team-a", {}, { ...to }));
  return await runCommand(["impact", "--from", dir, "-", "--mode", "carm", ...flags], { stdin });
}

test("impact denies the removal of the annotation that chooses a role, and shows the lost role", async (t) => {
  const account = { [OWNER]: FIRST };
  for (const to of [{}, { [OWNER]: "" }]) {
    const { status, stdout } = await impact(t, [account, to]);
    t.equal(status, 1);
    t.match(stdout, /^1 resource: 1 now refused, 0 unchanged\n[^]* ERR_SELECTOR_NOT_GRANTED\n/);
    t.match(stdout, new RegExp("\nThe webhook would deny\n-:1: deny NS-04 Namespace team-a "
      + `metadata\\.annotations\\[${OWNER}\\]: the change removes the role of 1 resource in account ${FIRST}: `));
  }
  const team = await impact(t, [{ ...account, [TEAM]: "blue" }, account], ["--team-level-carm"]);
  t.equal(team.status, 1);
  t.match(team.stdout, `deny NS-04 Namespace team-a metadata.annotations[${TEAM}]: `);
  t.match(team.stdout, `the role of key "${FIRST}" replaces that of 1 resource in account ${FIRST}: Bucket team-a/b1`);
  t.equal((await impact(t, [{ ...account, [TEAM]: "blue" }, account])).status, 0, "controllers do not read the team");
});

const WHERE = "ConfigMap ack-system/ack-role-account-map";

test("resolve, why, lint and audit refuse a value of a CARM map that is not the ARN of a role", async (t) => {
  const values = [`arn:aws:iam::${FIRST}:root`, `arn:aws:iam::${FIRST}:user/jane`, "arn:aws:iam:role/a", "role/a"];
  for (const value of values) {
    const map = mapObject(ACCOUNT_MAP, { [FIRST]: value });
    const stdin = yaml(map, namespaceObject("team-a", {}, { [OWNER]: FIRST }), BUCKET);
    const run = (...words: readonly string[]): Promise<CommandResult> => (
      runCommand([...words, "--mode", "carm", "--runtime", "ack"], { stdin })
    );
    const message = `The value "${value}" of key "${FIRST}" in ${WHERE} is not the ARN of an IAM role, so controllers `
      + "cannot assume it.";
    const resolved = await run("resolve", "-", "-o", "json");
    t.match(JSON.parse(resolved.stdout), [{ outcome: "refused", roleARN: null, code: "ERR_CARM_ARN", message }]);
    t.equal(resolved.status, 1);
    const explained = await run("why", "Bucket/b1", "-n", "team-a", "--from", "-", "-o", "json");
    t.match(JSON.parse(explained.stdout), { outcome: "refused", code: "ERR_CARM_ARN", message });
    t.match((await run("lint", "-")).stdout, "warn ACK-03 Bucket team-a/b1 metadata");
    t.match((await run("audit", "--from", "-")).stdout, "1  resource without a role in the CARM maps\n");
  }
});

test("lint denies keys of a CARM map that YAML reads as numbers, at their lines", async (t) => {
  const stdin = `apiVersion: v1
kind: ConfigMap
metadata: {name: ack-role-account-map, namespace: ack-system}
data:
  098765432109: arn:aws:iam::098765432109:role/x
  012345670123: arn:aws:iam::012345670123:role/x
  "012345670124": arn:aws:iam::012345670124:role/x
  111122223333: arn:aws:iam::111122223333:role/x
`;
  const { status, stdout } = await runCommand(["lint", "-", "--mode", "carm"], { stdin });
  t.equal(status, 1);
  t.equal(stdout, `-:6: deny CM-16 ConfigMap ack-system/ack-role-account-map data[1402433619]: \
the key is the number 1402433619, as which YAML reads 012345670123
    fix: put the key in quotes: "012345670123"
-:5: deny CM-16 ConfigMap ack-system/ack-role-account-map data[9.876543e+10]: \
the key is the number 9.876543e+10, as which YAML reads 098765432109
    fix: put the key in quotes: "098765432109"
1 checked, 2 denied, 0 warned; some checks need more input (-v for details)
`);
});

test("why and lint speak of annotations and maps, not of selectors", async (t) => {
  const stdin = yaml(mapObject(ACCOUNT_MAP, { [FIRST]: roleIn(FIRST) }), namespaceObject("team-a"), {
    ...BUCKET, status: {},
  });
  const flags = ["--mode", "carm", "--controller-account", "999988887777"];
  const linted = await runCommand(["lint", "-", ...flags], { stdin });
  t.match(linted.stdout, `warn ACK-05 Bucket team-a/b1 metadata: \
The namespace names no account, so the controller's own role is used
    fix: annotate the namespace with ${OWNER}, unless the controller's account is intended
`);
  const explained = await runCommand(["why", "Bucket/b1", "-n", "team-a", "--from", "-", ...flags], { stdin });
  t.match(explained.stdout, `nnotate the namespace with ${OWNER}`);
  t.notMatch(explained.stdout, /selector/i);
  const strict = await runCommand(["lint", "-", ...flags, "--profile", "strict"], { stdin });
  t.match(strict.stdout, `namespace with ${OWNER}, or ask a waiver user`);
});
