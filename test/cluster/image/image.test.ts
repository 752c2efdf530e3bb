import { chmod, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { type Test, test } from "tap";
import manifest from "../../../package.json" with { type: "json" };
import { nodeFilesystem } from "../../programs/node-image.ts";
import { type ProgramResult, runProgram } from "../../programs/run-program.ts";
import { copyOfCheckout, withoutTap } from "../../real/ci/packed.ts";
import { setTimeLimit } from "../../real/time-limit.ts";
import { type Buildah, configOf, findBuildah } from "./buildah.ts";

const LIMIT_MS = 10 * 60_000;
const BASE = "localhost/base:node";
const IMAGE = "localhost/ack-role-resolver:first";
const EPOCH = "1700000000";
const APP = "opt/ack-role-resolver";
const USER = "65532:65532";

test("the image", async (t) => {
  setTimeLimit(t, LIMIT_MS);
  const buildah = await findBuildah(t);
  if (buildah === null) return;
  const folder = t.testdir({ rootfs: {}, checkout: {} });
  await buildBase(buildah, path.join(folder, "rootfs"));
  const checkout = await copyOfCheckout(folder);
  const { code, stderr } = await runProgram(process.execPath, ["build.ts"], { cwd: checkout });
  t.same([code, stderr], [0, ""]);

  await t.test("two builds have the same digest, also with other file modes", async (tt) => {
    const first = await buildImage(buildah, checkout, "first");
    const dist = path.join(checkout, "dist");
    for (const name of await readdir(dist)) await chmod(path.join(dist, name), 0o600);
    tt.same(await buildImage(buildah, checkout, "second"), first);
    await rm(path.join(dist, "sbom.cdx.json"));
    const other = await buildImage(buildah, checkout, "other");
    for (const [i, digest] of first.entries()) {
      tt.match(digest, /^(sha256:)?[0-9a-f]{64}$/);
      tt.not(digest, other[i], "the digest depends on the content");
    }
  });
  await t.test("has a numeric user, the labels and the entry point of the command line", async (tt) => {
    tt.match(await configOf(buildah, IMAGE), {
      User: USER, Env: /NODE_OPTIONS=--max-semi-space-size=4\b.*MALLOC_ARENA_MAX=2/,
      Entrypoint: ["node", `/${APP}/ack-role-resolver.js`],
      Labels: {
        "org.opencontainers.image.version": manifest.version, "org.opencontainers.image.revision": "0123abc",
        "org.opencontainers.image.licenses": "Apache-2.0",
      },
    });
  });
  const container = await buildah(["from", "--pull-never", IMAGE]);
  await t.test("adds only dist and the license to the base", async (tt) => addsOnlyDist(tt, {
    buildah, container, checkout, rootfs: path.join(folder, "rootfs"),
  }));
  await t.test("runs each command without write access", async (tt) => {
    // `buildah run --isolation chroot` sometimes loses the output of a command that exits soon.
    const mounted = await buildah(["mount", container]);
    const node = [`--userspec=${USER}`, mounted, "/usr/local/bin/node"];
    const run = (...argv: readonly string[]): Promise<ProgramResult> => (
      runProgram(...withoutTap("/usr/sbin/chroot", [...node, ...argv]), { cwd: "/", env: {} })
    );
    const program = `/${APP}/ack-role-resolver.js`;
    tt.same(await run(program, "--version"), { code: 0, stdout: `${manifest.version}\n`, stderr: "" });
    tt.match(await run(program, "manifests", "rbac"), { code: 0, stdout: "kind: ClusterRole" });
    const write = await run("-e", `require("node:fs").writeFileSync("/${APP}/main.js", "")`);
    tt.match(write, { code: 1, stderr: /EACCES: permission denied/ });
  });
});

async function buildBase(buildah: Buildah, rootfs: string): Promise<void> {
  await nodeFilesystem(rootfs);
  const container = await buildah(["from", "scratch"]);
  await buildah(["copy", container, rootfs, "/"]);
  await buildah(["config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin", container]);
  await buildah(["commit", "--rm", container, BASE]);
}

/** Builds the image as docs/release.md describes. Returns the digests of its manifest and its configuration. */
async function buildImage(buildah: Buildah, checkout: string, tag: string): Promise<readonly string[]> {
  const build = { BASE, VERSION: manifest.version, REVISION: "0123abc" };
  const args = Object.entries(build).flatMap(([key, value]) => ["--build-arg", `${key}=${value}`]);
  const image = `localhost/ack-role-resolver:${tag}`;
  await buildah(["build", "--pull-never", "--no-cache", "--timestamp", EPOCH, ...args, "--tag", image, checkout]);
  return (await buildah(["inspect", "--type", "image", "--format", "{{.FromImageDigest}} {{.FromImageID}}", image]))
    .split(" ");
}

interface Built {
  readonly buildah: Buildah;
  readonly container: string;
  readonly checkout: string;
  readonly rootfs: string;
}

async function addsOnlyDist(t: Test, { buildah, container, checkout, rootfs }: Built): Promise<void> {
  const mounted = await buildah(["mount", container]);
  const files = async (folder: string): Promise<string[]> => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => (
      path.relative(folder, path.join(entry.parentPath, entry.name))
    ));
  };
  const base = new Set(await files(rootfs));
  const dist = await files(path.join(checkout, "dist"));
  const expected = [...dist, "LICENSE", "sbom.cdx.json"].map((file) => `${APP}/${file}`);
  t.same((await files(mounted)).filter((file) => !base.has(file)).toSorted(), expected.toSorted());
  t.match(await readFile(path.join(mounted, APP, "LICENSE"), "utf8"), "Apache License");
}
