import { readdir, readFile, readlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { runTool } from "../../programs/run-program.ts";

/** What belongs to a node on this machine. Each list is empty if the node left nothing. */
interface Traces {
  /** The command lines of processes, of the components and in Pods. */
  readonly processes: readonly string[];
  /** The mounts that any process of this machine has. */
  readonly mounts: readonly string[];
  readonly interfaces: readonly string[];
  readonly cgroups: readonly string[];
  readonly files: readonly string[];
}

/** Finds everything whose name contains the ID of the node. */
export async function findTraces(id: string): Promise<Traces> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const found = await Promise.all(pids.map((pid) => processTraces(pid, id)));
  return {
    processes: found.flatMap(({ processes }) => processes),
    mounts: [...new Set(found.flatMap(({ mounts }) => mounts))],
    interfaces: await interfacesOf(id),
    cgroups: await cgroupsOf(id),
    files: (await readdir(tmpdir())).filter((name) => name.includes(id)),
  };
}

/** The processes in Pods do not have the ID in their command line, but in the name of their cgroup. */
async function processTraces(pid: string, id: string): Promise<Pick<Traces, "processes" | "mounts">> {
  const read = async (name: string): Promise<string> => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "");
  const [command, cgroup, mounts] = [await read("cmdline"), await read("cgroup"), await read("mountinfo")];
  const program = await readlink(`/proc/${pid}/exe`).catch(() => "");
  const isOfNode = command.includes(id) || cgroup.includes(id);
  return {
    processes: isOfNode ? [`${pid} ${program} ${command.replaceAll("\0", " ")}`] : [],
    mounts: mounts.split("\n").filter((line) => line.includes(id)),
  };
}

async function interfacesOf(id: string): Promise<readonly string[]> {
  const { stdout } = await runTool("ip", ["-oneline", "link"], "/");
  return stdout.split("\n").filter((line) => line.includes(id));
}

async function cgroupsOf(id: string): Promise<readonly string[]> {
  const root = "/sys/fs/cgroup";
  const hierarchies = (await readdir(root, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const children = await Promise.all(hierarchies.map(({ name }) => readdir(path.join(root, name)).catch(() => [])));
  return [...hierarchies.map(({ name }) => name), ...children.flat()].filter((name) => name.includes(id));
}
