import { test } from "tap";
import { mapObject } from "../../shared/objects.ts";
import { roleIdentity, staticIdentity } from "../../shared/capa-objects.ts";
import { allow, APP } from "../../shared/trust/trust-cases.ts";
import { IAMFolder, roleARN, selectorOf } from "./iam-folder.ts";
import { type CommandResult, runCommand } from "../run-command.ts";

const folder = new IAMFolder();
const JANE = "arn:aws:iam::111122223333:user/jane";
const FILES = folder.exports({
  "team-a": allow({ AWS: APP }), base: allow({ AWS: APP }), clusters: allow({ AWS: [roleARN("base"), JANE] }),
  mapped: allow({ AWS: [APP, JANE] }),
});
const MAP = "ack-role-account-map";
const MANIFESTS = folder.write(
  "all.json", selectorOf("team-a"), mapObject(MAP, { 444455556666: roleARN("mapped") }),
  roleIdentity("base", null, {}, { roleARN: roleARN("base") }),
  roleIdentity("clusters", "role/base", {}, { roleARN: roleARN("clusters") }), staticIdentity("keys"),
  roleIdentity("lost", "role/gone", {}, { roleARN: roleARN("lost") }),
);

function who(...words: readonly string[]): Promise<CommandResult> {
  return runCommand([
    "trust", "who", "--from", MANIFESTS, "--iam", FILES.roles, "--intended", APP, "-o", "json", ...words,
  ]);
}

function policy(...words: readonly string[]): Promise<CommandResult> {
  return runCommand([
    "trust", "policy", "--from", MANIFESTS, "--caller", APP, "--caller-credentials", "irsa", ...words,
  ]);
}

test("trust who examines the roles of selectors, CARM maps and identities", async (t) => {
  const { status, stdout, stderr } = await who("--all");
  t.equal(status, 1);
  t.match(JSON.parse(stdout), [
    { role: roleARN("base"), unintended: [] },
    { role: roleARN("clusters"), unintended: [JANE] }, { role: roleARN("mapped"), unintended: [JANE] },
    { role: roleARN("team-a"), unintended: [] },
  ], "the source of an identity is intended");
  t.match(stderr, /^note: AWSClusterRoleIdentity "lost" is not examined: its source .*"gone" does not exist$/m);
  t.match(JSON.parse((await who(`ConfigMap/${MAP}/444455556666`)).stdout), { role: roleARN("mapped") });
  t.match(JSON.parse((await who("AWSClusterRoleIdentity/base")).stdout), { role: roleARN("base"), unintended: [] });
  t.match(JSON.parse((await who("IAMRoleSelector/team-a")).stdout), { role: roleARN("team-a") });
});

test("trust policy prints the policies of each of them that the program assumes", async (t) => {
  const rolesOf = async (...words: readonly string[]): Promise<string[]> => {
    const { stdout } = await policy(...words);
    return [...stdout.matchAll(/"role": "[^"]*\/([^"/]+)"/g)].map(([, name = ""]) => name);
  };
  t.same(await rolesOf("--all"), ["base", "clusters", "mapped", "team-a"]);
  t.same(await rolesOf("--all", "--via", "capa"), ["base", "clusters"]);
  t.same(await rolesOf("--all", "--via", "ack"), ["mapped", "team-a"]);
  t.same(await rolesOf("AWSClusterRoleIdentity/clusters"), ["clusters"]);
  const { stdout } = await policy("AWSClusterRoleIdentity/clusters", "-o", "terraform");
  t.match(stdout, /^# identities: clusters$/m);
  t.match(stdout, new RegExp(`"AWS" : "${roleARN("base")}"`));
});

test("names what does not exist, and what was perhaps meant", async (t) => {
  const fault = async (name: string): Promise<string> => {
    const { status, stderr } = await policy(name);
    t.equal(status, 2);
    return stderr;
  };
  t.match(await fault("clusters"), /IAMRoleSelector clusters does not exist; did you mean AWSClusterRoleIdentity\/cl/);
  t.match(await fault("AWSClusterRoleIdentity/cluster"), /Identity\/cluster does not exist; did you mean AWSC/);
  t.match(await fault("AWSClusterRoleIdentity/lost"), /"lost" is not examined: its source .* does not exist/);
  t.match(await fault("Secret/x"), /Secret\/x does not exist\n/);
});
