import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Test } from "tap";
import { codeBlocks } from "../../documented-commands.ts";
import { readPath } from "../../programs/environment.ts";
import { RENDERERS } from "../../programs/renderers.ts";
import { type ProgramResult, runProgram } from "../../programs/run-program.ts";
import { until } from "../../real/apiserver/until.ts";
import { findPrograms } from "../../real/find-programs.ts";
import { setTimeLimit } from "../../real/time-limit.ts";
import { failurePolicies, prepareCluster } from "../chart/release.ts";
import type { PodCluster } from "../cluster.ts";
import { findBuildah } from "../image/buildah.ts";
import { startCluster, withNode } from "../on-node.ts";
import { NAMESPACE } from "../webhook/installed.ts";
import { selector } from "../webhook/selector.ts";

const ROOT = path.join(import.meta.dirname, "../../..");
const README = readFileSync(path.join(ROOT, "README.md"), "utf8");
const GUIDE = readFileSync(path.join(ROOT, "docs/install.md"), "utf8");
const ROLE = "arn:aws:iam::111122223333:role/team-a";
const TEST_LIMIT_MS = 8 * 60_000;

interface Shell {
  readonly cluster: PodCluster;
  /** Runs a command line in the checkout. */
  readonly sh: (line: string) => Promise<ProgramResult>;
  /** The file in which `kind load` leaves the archive. */
  readonly loaded: string;
}

// A stranger with a node and the README only: look, ask, enforce, remove.
withNode("the commands of the README and the guide, from a clone to the profile strict and back", async (t, found) => {
  const folders = await findPrograms(t, RENDERERS);
  if (folders === null || await findBuildah(t) === null) return;
  setTimeLimit(t, TEST_LIMIT_MS);
  const cluster = await startCluster(t, found);
  await prepareCluster(cluster, "team-a");
  await cluster.apply([selector("team-a", ROLE)]);
  const shell = shellOf(t, cluster, folders[0]);
  const step = async (name: string, run: (t: Test) => Promise<void>): Promise<void> => {
    const startMs = performance.now();
    await t.test(name, run);
    t.comment(`${name}: ${Math.round((performance.now() - startMs) / 1000)} s`);
  };
  await step("builds, loads and observes", (tt) => observes(tt, shell, found.programs.nodeImage));
  await step("says what enforce would have denied", (tt) => asks(tt, shell));
  await step("enforces", (tt) => enforces(tt, shell));
  await step("takes the values of the guide, and the profile strict", (tt) => configures(tt, shell));
  await step("is removed", (tt) => removes(tt, shell));
});

/** A shell in which `kind` loads into the node of the test, and buildah needs no registry. */
function shellOf(t: Test, cluster: PodCluster, helm: string): Shell {
  const home = t.testdir({
    "bin": { kind: '#!/bin/sh\n[ "$1" = load ] && cp "$3" "$LOADED"\nexit 0\n' },
    "registries.conf": 'short-name-mode = "enforcing"\nunqualified-search-registries = []\n',
  });
  chmodSync(path.join(home, "bin/kind"), 0o755);
  const [loaded, storage] = [path.join(home, "loaded.tar"), path.join(home, "storage.conf")];
  writeFileSync(storage, `[storage]\ndriver = "vfs"\ngraphroot = "${home}/root"\nrunroot = "${home}/run"\n`);
  const env = {
    HOME: home, KUBECONFIG: cluster.api.kubeconfig, LOADED: loaded, CONTAINERS_STORAGE_CONF: storage,
    CONTAINERS_REGISTRIES_CONF: path.join(home, "registries.conf"),
    PATH: [path.join(home, "bin"), helm, ...readPath()].join(path.delimiter),
  };
  return { cluster, loaded, sh: (line) => runProgram("/bin/sh", ["-c", line], { cwd: ROOT, env }) };
}

/** Returns the command of a page that starts with one text and ends with another one. */
function documented(start: string, { page = README, end = "" } = {}): string {
  const commands = page.replaceAll("\\\n", "").split(/[\n`]/);
  const command = commands.find((line) => line.startsWith(start) && line.endsWith(end));
  if (command === undefined) throw new Error(`the page does not contain ${start}`);
  return command;
}

/** Runs a command. Returns its output, or rejects with it if the command fails. */
async function output({ sh }: Shell, line: string): Promise<string> {
  const { code, stdout, stderr } = await sh(line);
  if (code !== 0) throw new Error(`${line} exited with ${code}: ${stdout}${stderr}`);
  return stdout;
}

const TYPO = selector("typo", "arn:aws:iam::11112222333:role/a");

async function observes(t: Test, shell: Shell, nodeImage: string): Promise<void> {
  // The test has no registry that has the base image.
  const base = `--tool buildah --build-arg BASE=oci-archive:${nodeImage}`;
  const built = await output(shell, `${documented("npm run image -- --load kind")} ${base}`);
  const install = built.slice(built.indexOf("helm install"));
  await shell.cluster.loadArchive(shell.loaded);
  const notes = await output(shell, install);
  t.match(notes, "The profile observe denies almost nothing.");
  const calls = async (): Promise<boolean> => (await applied(shell)).stderr.includes("IRS-03 (would be denied)");
  t.ok(await until(calls), "kubectl warns");
  t.equal((await applied(shell)).code, 0);
}

function applied({ cluster }: Shell, ...flags: readonly string[]): Promise<ProgramResult> {
  return cluster.api.kubectl(["apply", ...flags, "-f", "-"], { input: JSON.stringify(TYPO) });
}

const AUDIT = documented("npx --no-install ack-role-resolver audit --cluster --profile enforce");

async function asks(t: Test, { cluster, sh }: Shell): Promise<void> {
  const isCounted = async (): Promise<boolean> => /denied \d+ admission/.test((await sh(AUDIT)).stdout);
  t.ok(await until(isCounted, 30_000), "the webhook has stored what it observed");
  const unsafe = await sh(AUDIT);
  t.equal(unsafe.code, 1);
  t.match(unsafe.stdout, /IRS-03 +CREATE IAMRoleSelector typo +\S+\n/);
  await cluster.kubectl(["delete", "iamroleselector", "typo"]);
}

async function enforces(t: Test, shell: Shell): Promise<void> {
  await output(shell, documented("helm upgrade ack-role-resolver"));
  // Replicas of the profile observe still review for up to 15 s.
  const isDenied = async (): Promise<boolean> => (
    /is invalid: spec.arn: IRS-03 /.test((await applied(shell, "--dry-run=server")).stderr)
  );
  t.ok(await until(isDenied), "the webhook denies the selector");
  const failing = async (): Promise<boolean> => (await failurePolicies(shell.cluster)).includes("Fail");
  t.ok(await until(failing), "it fails closed");
}

async function configures(t: Test, shell: Shell): Promise<void> {
  const values = codeBlocks(GUIDE, "yaml")[0]?.[1] ?? "";
  t.match(values, "controllerUsers");
  const file = path.join(t.testdir({ "values.yaml": values }), "values.yaml");
  const upgrade = documented("helm upgrade", { page: GUIDE, end: "--values values.yaml" });
  const notes = await output(shell, upgrade.replace("values.yaml", file));
  t.notMatch(notes, /settings\.(allowedAccounts|controllerAccount|controllerUsers)/, "the notes warn of nothing");
  t.match(await output(shell, documented("helm test", { page: GUIDE })), /Phase: +Succeeded/);
  const strict = documented("helm upgrade", { page: GUIDE, end: "profile=strict" });
  t.match(await output(shell, strict), "(profile: strict)");
}

async function removes(t: Test, shell: Shell): Promise<void> {
  await output(shell, documented("helm uninstall ack-role-resolver"));
  const left = async (): Promise<string> => (
    await shell.cluster.kubectl(["get", "deployments,pods", "-n", NAMESPACE, "-o", "name"])
  );
  t.ok(await until(async () => (await left()) === "", 60_000), "no Pod remains");
  t.same(await failurePolicies(shell.cluster), []);
  t.match(await shell.cluster.kubectl(["get", "iamroleselectors", "-o", "name"]), "team-a", "selectors remain");
}
