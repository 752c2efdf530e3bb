import { access } from "node:fs/promises";
import process from "node:process";
import { runProgram, runTool } from "./run-program.ts";

/** What determines whether a machine can run a node. */
interface Machine {
  /** The user ID of the tests; undefined on a platform without user IDs. */
  readonly uid: number | undefined;
  /** A file of each Debian package that a node needs, by the name of the package. */
  readonly packages: Readonly<Record<string, string>>;
}

const THIS_MACHINE: Machine = {
  uid: process.getuid?.(),
  packages: {
    containerd: "/usr/bin/containerd",
    runc: "/usr/sbin/runc",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    iptables: "/usr/sbin/iptables",
    iproute2: "/bin/ip",
    buildah: "/usr/bin/buildah",
  },
};

/** Returns why the machine cannot run a node, with the fix, or null if it can. */
export async function machineFault(machine: Machine = THIS_MACHINE): Promise<string | null> {
  if (machine.uid !== 0) return "a cluster with Pods needs root; run the tests as root on Linux";
  const missing = await missingPackages(machine);
  if (missing.length > 0) return `${missing.join(", ")}: not installed; run \`npm run setup:cluster\` on Debian`;
  const namespaces = ["--net", "--mount", "--pid", "--fork", "/bin/true"];
  const { code, stderr } = await runProgram("unshare", namespaces, { cwd: "/" });
  if (code === 0) return null;
  return `this machine does not allow new namespaces (${stderr.trim()}); run the tests on another machine`;
}

/** What the tests of the page of `map`, of completion and the man page, and of a release need. */
const GROUPS = {
  // The font is that of the pictures of the page.
  browser: {
    "chromium": "/usr/bin/chromium", "fonts-dejavu-core": "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
  },
  shells: { zsh: "/usr/bin/zsh", fish: "/usr/bin/fish", mandoc: "/usr/bin/mandoc" },
  // The libraries and the emulator run the programs for arm64.
  release: {
    "buildah": "/usr/bin/buildah",
    "skopeo": "/usr/bin/skopeo",
    "qemu-user": "/usr/bin/qemu-aarch64",
    "libc6-arm64-cross": "/usr/aarch64-linux-gnu/lib/libc.so.6",
    "libstdc++6-arm64-cross": "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
    "libatomic1-arm64-cross": "/usr/aarch64-linux-gnu/lib/libatomic.so.1",
  },
} as const;
type Group = keyof typeof GROUPS;
export const PACKAGE_GROUPS: readonly string[] = Object.keys(GROUPS);

/** Returns the paths of programs by the names of their packages, or why they are missing, with the fix. */
export async function findPackages<G extends Group>(
  group: G,
): Promise<{ readonly paths: (typeof GROUPS)[G] } | { readonly fault: string }> {
  const missing = await missingPackages({ packages: GROUPS[group] });
  if (missing.length === 0) return { paths: GROUPS[group] };
  return { fault: `${missing.join(", ")}: not installed; run \`npm run setup:${group}\` as root on Debian` };
}

/** Installs the packages of a group. */
export const setUpGroup = (group: string): Promise<void> => (
  setUp({ packages: Object.entries(GROUPS).find(([name]) => name === group)?.[1] ?? {} })
);

/** Installs the packages that a node needs. */
export const setUpPackages = (): Promise<void> => setUp(THIS_MACHINE);

/** Installs the missing packages with apt-get. Rejects with the output of apt-get if it fails. */
async function setUp(machine: Pick<Machine, "packages">): Promise<void> {
  const missing = await missingPackages(machine);
  if (missing.length === 0) return;
  await runTool("apt-get", ["update"], "/");
  const install = ["install", "--yes", "--no-install-recommends", ...missing];
  await runTool("env", ["DEBIAN_FRONTEND=noninteractive", "apt-get", ...install], "/");
}

async function missingPackages({ packages }: Pick<Machine, "packages">): Promise<readonly string[]> {
  const names = Object.keys(packages);
  const present = await Promise.allSettled(names.map((name) => access(packages[name] ?? "")));
  return names.filter((_, index) => present[index]?.status === "rejected");
}
