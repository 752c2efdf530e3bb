import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { until } from "../../real/apiserver/until.ts";

/** The CPU time of a node relative to any other process of the machine, so that a busy machine delays no test. */
const CPU_WEIGHT = 8;

/** The cgroup of a node, which contains a cgroup of its components and a cgroup of its Pods. */
export interface NodeCgroup {
  /**
   * The cgroup of the Pods, relative to the root of each cgroup hierarchy. Kubelets cannot share it: a kubelet removes
   * the cgroups of unknown Pods.
   */
  readonly pods: string;
  /** The file to which each component writes its PID, so that it shares the CPU time of the node. */
  readonly componentsFile: string;
  /** Returns the memory of a cgroup of the Pods: `podUID`, or the ID of a container. */
  memory(name: string): Promise<PodMemory>;
  /** Limits the memory of a cgroup of the Pods to a number of bytes. */
  limitMemory(name: string, bytes: number): Promise<void>;
  /** Returns the CPU time of a cgroup of the Pods since its start, in ms. */
  processorMs(name: string): Promise<number>;
  remove(): Promise<void>;
}

/** The memory of a Pod or a container, in bytes. */
export interface PodMemory {
  /** The memory that the kubelet compares with limits: the usage without the inactive page cache. */
  readonly workingSet: number;
  /** The anonymous memory of the processes, such as heaps. */
  readonly anonymous: number;
  /** The resident memory of the processes, which includes files that they share with other Pods, such as node. */
  readonly resident: number;
}

/** Creates the cgroups in each mounted hierarchy of cgroup version 1 or 2. */
export async function createCgroup(name: string): Promise<NodeCgroup> {
  const mounts = await cgroupMounts();
  const [memory, cpu] = [hierarchyOf(mounts, "memory"), hierarchyOf(mounts, "cpu")];
  const time = hierarchyOf(mounts, "cpuacct");
  const remove = async (): Promise<void> => {
    for (const folder of await cgroupFolders(name)) await removeTree(folder);
  };
  try {
    for (const { folder } of mounts) {
      for (const one of [name, `${name}/pods`, `${name}/components`]) await createOne(path.join(folder, one));
    }
    const [file, standard] = cpu.version === 1 ? ["cpu.shares", 1024] : ["cpu.weight", 100];
    await writeFile(path.join(cpu.folder, name, file), String(CPU_WEIGHT * standard));
  } catch (error) {
    await remove();
    throw error;
  }
  const folderOf = async (child: string): Promise<string> => findFolder(path.join(memory.folder, name), child);
  return {
    pods: `/${name}/pods`, componentsFile: path.join(cpu.folder, name, "components/cgroup.procs"), remove,
    memory: async (child) => memoryOf(await folderOf(child), memory.version),
    limitMemory: async (child, bytes) => {
      const limit = memory.version === 1 ? "memory.limit_in_bytes" : "memory.max";
      await writeFile(path.join(await folderOf(child), limit), String(bytes));
    },
    processorMs: async (child) => timeOf(await findFolder(path.join(time.folder, name), child), time.version),
  };
}

/** Returns the hierarchy of a controller. All controllers without a hierarchy of version 1 are in version 2. */
function hierarchyOf(mounts: readonly CgroupMount[], controller: string): CgroupMount {
  const found = mounts.find(({ controllers }) => controllers.includes(controller))
    ?? mounts.find(({ version }) => version === 2);
  if (found === undefined) throw new Error(`no cgroup hierarchy with the controller ${controller} is mounted`);
  return found;
}

/** Returns the folders of the cgroup in all hierarchies. */
export async function cgroupFolders(name: string): Promise<readonly string[]> {
  return (await cgroupMounts()).map(({ folder }) => path.join(folder, name));
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
  if (!(await until(isGone))) await rmdir(folder);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

async function findFolder(root: string, name: string): Promise<string> {
  const folders = await readdir(root, { recursive: true });
  const found = folders.find((folder) => path.basename(folder) === name);
  if (found === undefined) throw new Error(`cgroup ${root} has no child ${name}`);
  return path.join(root, found);
}

async function timeOf(folder: string, version: 1 | 2): Promise<number> {
  if (version === 1) return Number(await readFile(path.join(folder, "cpuacct.usage"), "utf8")) / 1e6;
  const stat = await readFile(path.join(folder, "cpu.stat"), "utf8");
  return Number(/^usage_usec (\d+)$/mu.exec(stat)?.[1] ?? Number.NaN) / 1000;
}

async function memoryOf(folder: string, version: 1 | 2): Promise<PodMemory> {
  const [usageFile, prefix] = version === 1 ? ["memory.usage_in_bytes", "total_"] : ["memory.current", ""];
  const usage = Number(await readFile(path.join(folder, usageFile), "utf8"));
  const lines = (await readFile(path.join(folder, "memory.stat"), "utf8")).trim().split("\n");
  const stat = new Map(lines.map((line) => [line.split(" ")[0], Number(line.split(" ")[1])]));
  const inactive = stat.get(`${prefix}inactive_file`) ?? 0;
  const anonymous = stat.get(version === 1 ? "total_rss" : "anon") ?? 0;
  return { workingSet: usage - inactive, anonymous, resident: await residentIn(folder) };
}

/** Returns the sum of the resident sets of all processes in a cgroup and its children. */
async function residentIn(folder: string): Promise<number> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => path.basename(name) === "cgroup.procs");
  const pids = (await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")))).join("\n");
  const statuses = await Promise.all(pids.split(/\s+/u).filter((pid) => pid !== "").map(async (pid) => (
    readFile(`/proc/${pid}/status`, "utf8").catch(() => "")
  )));
  const kibibytes = statuses.map((status) => Number(/^VmRSS:\s+(\d+) kB$/mu.exec(status)?.[1] ?? 0));
  return kibibytes.reduce((sum, one) => sum + one * 1024, 0);
}
