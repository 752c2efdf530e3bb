// The npm script `prepare`: builds dist after `npm ci`, before `npm pack`, and for an installation from git. For
// `npm install -g git+...`, which pre-commit runs, npm does not install the packages that the build needs:
// https://github.com/npm/cli/issues/8440. Then this script installs them in the clone. npm ci also installs the Node.js
// of the project, and runs this script again.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";

const args = existsSync("node_modules/esbuild") ? ["run", "build"] : ["ci", "--no-global", "--no-audit", "--no-fund"];
const { status, error } = spawnSync("npm", args, { stdio: "inherit", shell: process.platform === "win32" });
if (error !== undefined) process.stderr.write(`cannot start npm: ${error.message}\n`);
process.exitCode = status ?? 1;
