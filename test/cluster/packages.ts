import { access } from "node:fs/promises";
import process from "node:process";
import { runProgram } from "../real/apiserver/run-program.ts";
import { runTool } from "../real/sdks/toolchains/built-client.ts";

/** A file of each Debian package that a node needs. */
const PACKAGES: Readonly<Record<string, string>> = {
  containerd: "/usr/bin/containerd",
  runc: "/usr/sbin/runc",
  "containernetworking-plugins": "/usr/lib/cni/bridge",
  iptables: "/usr/sbin/iptables",
  iproute2: "/bin/ip",
  buildah: "/usr/bin/buildah",
};

/** Returns why this machine cannot run a node, with the fix, or null if it can. */
export async function machineFault(): Promise<string | null> {
  if (process.getuid?.() !== 0) return "a cluster with Pods needs root; run the tests as root";
  const missing = await missingPackages();
  if (missing.length > 0) return `${missing.join(", ")}: not installed; run \`npm run setup:cluster\` on Debian`;
  const args = ["--net", "--mount", "--pid", "--fork", "/bin/true"];
  const { code, stderr } = await runProgram("unshare", args, { cwd: "/" });
  if (code === 0) return null;
  return `this machine does not allow new namespaces (${stderr.trim()}); run the tests on another machine`;
}

/** Installs the missing packages with apt-get. Rejects with the output of apt-get if it fails. */
export async function setUpPackages(): Promise<void> {
  const missing = await missingPackages();
  if (missing.length === 0) return;
  await runTool("apt-get", ["update"], "/");
  const install = ["install", "--yes", "--no-install-recommends", ...missing];
  await runTool("env", ["DEBIAN_FRONTEND=noninteractive", "apt-get", ...install], "/");
}

async function missingPackages(): Promise<readonly string[]> {
  const names = Object.keys(PACKAGES);
  const present = await Promise.allSettled(names.map((name) => access(PACKAGES[name] ?? "")));
  return names.filter((_, index) => present[index]?.status === "rejected");
}
