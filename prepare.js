// The npm script `prepare`: builds dist after `npm ci`, before `npm pack`, and for an installation from git. For
// `npm install -g git+...`, which pre-commit runs, npm does not install the packages that the build needs:
// https://github.com/npm/cli/issues/8440. Then this script installs them in the clone. npm ci also installs the Node.js
// of the project, and runs this script again.
//
// `npm pack` runs it as `prepack` and `postpack`: the package.json in the tarball has no script `prepare`, because npm
// would warn those who install the tarball about a script that npm does not run for them.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

const VISIBLE = '"prepare":';
const HIDDEN = '"prepare-checkout":';

function rename(/** @type {string} */ from, /** @type {string} */ to) {
  writeFileSync("package.json", readFileSync("package.json", "utf8").replace(from, to));
}

function build() {
  const args = existsSync("node_modules/esbuild") ? ["run", "build"] : ["ci", "--no-global", "--no-audit", "--no-fund"];
  const { status, error } = spawnSync("npm", args, { stdio: "inherit", shell: process.platform === "win32" });
  if (error !== undefined) process.stderr.write(`cannot start npm: ${error.message}\n`);
  process.exitCode = status ?? 1;
}

const [step] = process.argv.slice(2);
if (step === "postpack") rename(HIDDEN, VISIBLE);
else build();
if (step === "prepack" && process.exitCode === 0) rename(VISIBLE, HIDDEN);
