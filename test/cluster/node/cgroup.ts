import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { until } from "../../real/apiserver/until.ts";

const REMOVE_LIMIT_MS = 10_000;

/** The cgroup of all Pods of a node. Kubelets cannot share a cgroup: a kubelet removes the cgroups of unknown Pods. */
export interface PodsCgroup {
  /** The path relative to the root of each cgroup hierarchy, such as `/ack-role-resolver-x1y2z3`. */
  readonly root: string;
  /** Returns the memory of the containers of a Pod. */
  podMemory(uid: string): Promise<PodMemory>;
  remove(): Promise<void>;
}

/** The memory of a Pod, in bytes. */
export interface PodMemory {
  /** The memory that the kubelet compares with limits: the usage without the inactive page cache. */
  readonly workingSet: number;
  /** The anonymous memory of the processes. */
  readonly anonymous: number;
}

/** Creates the cgroup in each mounted hierarchy of cgroup version 1 or 2. */
export async function createCgroup(name: string): Promise<PodsCgroup> {
  const mounts = await cgroupMounts();
  const remove = async (): Promise<void> => removeCgroup(name);
  try {
    for (const { folder } of mounts) await createOne(path.join(folder, name));
  } catch (error) {
    await remove();
    throw error;
  }
  const memory = mounts.find(({ controllers }) => controllers.includes("memory"));
  const root = memory ?? mounts.find(({ version }) => version === 2);
  return {
    root: `/${name}`, remove,
    podMemory: async (uid) => {
      if (root === undefined) throw new Error("no cgroup hierarchy has a memory controller");
      return memoryOf(await podFolder(path.join(root.folder, name), uid), root.version);
    },
  };
}

/** Removes the cgroup of a node. Waits until its processes have ended. */
export async function removeCgroup(name: string): Promise<void> {
  for (const { folder } of await cgroupMounts()) await removeTree(path.join(folder, name));
}

interface CgroupMount {
  readonly folder: string;
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
}

async function cgroupMounts(): Promise<readonly CgroupMount[]> {
  const lines = (await readFile("/proc/self/mounts", "utf8")).split("\n");
  return lines.flatMap((line): CgroupMount[] => {
    const [, folder = "", type, options = ""] = line.split(" ");
    if (type === "cgroup") return [{ folder, version: 1, controllers: options.split(",") }];
    return type === "cgroup2" ? [{ folder, version: 2, controllers: [] }] : [];
  });
}

async function createOne(folder: string): Promise<void> {
  await mkdir(folder);
  // A new cgroup of the controller cpuset has no CPUs and no memory nodes.
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const ofParent = await readFile(path.join(folder, "..", file), "utf8").catch(() => "");
    if (ofParent.trim() !== "") await writeFile(path.join(folder, file), ofParent);
  }
}

/** Removes the cgroup and its children. The kernel reports EBUSY until all their processes have ended. */
async function removeTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(path.join(folder, entry.name));
  const isGone = async (): Promise<boolean> => (
    rmdir(folder).then(() => true, (error: unknown) => codeOf(error) === "ENOENT")
  );
  if (!(await until(isGone, REMOVE_LIMIT_MS))) await rmdir(folder);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

async function podFolder(root: string, uid: string): Promise<string> {
  const folders = await readdir(root, { recursive: true });
  const found = folders.find((folder) => path.basename(folder) === `pod${uid}`);
  if (found === undefined) throw new Error(`Pod ${uid} has no cgroup`);
  return path.join(root, found);
}

async function memoryOf(folder: string, version: 1 | 2): Promise<PodMemory> {
  const [usageFile, prefix] = version === 1 ? ["memory.usage_in_bytes", "total_"] : ["memory.current", ""];
  const usage = Number(await readFile(path.join(folder, usageFile), "utf8"));
  const lines = (await readFile(path.join(folder, "memory.stat"), "utf8")).trim().split("\n");
  const stat = new Map(lines.map((line) => [line.split(" ")[0], Number(line.split(" ")[1])]));
  const inactive = stat.get(`${prefix}inactive_file`) ?? 0;
  const anonymous = stat.get(version === 1 ? "total_rss" : "anon") ?? 0;
  return { workingSet: usage - inactive, anonymous };
}
