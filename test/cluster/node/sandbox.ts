import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { startProcess } from "../../real/apiserver/managed-process.ts";
import { until } from "../../real/apiserver/until.ts";
import { runTool } from "../../programs/run-program.ts";

/** The programs of a node start iptables, mount and the network plugins. */
const PROGRAM_PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

/** A command and its arguments. */
type Command = readonly [command: string, args: readonly string[]];

/**
 * Network, mount, PID and IPC namespaces for the processes of a node. If the first process of the PID namespace ends,
 * the kernel kills all other processes. The network namespace and the mounts end with the last process. The first
 * process also ends if the test process is killed.
 */
export interface Sandbox {
  /** The PID of the first process, in the PID namespace of the caller. */
  readonly pid: number;
  /** Returns the command that runs a program in the namespaces. `cwd` is its working directory. */
  command(program: string, args: readonly string[], cwd: string): Command;
  /** Runs a program in the namespaces. Rejects unless the program exits with status 0. */
  run(program: string, args: readonly string[]): Promise<string>;
  /** Kills all processes in the namespaces. Resolves when they have exited. */
  stop(): Promise<void>;
}

/**
 * The kernel parameters that the kubelet requires. The kubelet would otherwise change them for the whole machine:
 * pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables.
 */
const KERNEL_PARAMETERS = {
  "vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
  "kernel/keys/root_maxkeys": 1_000_000, "kernel/keys/root_maxbytes": 25_000_000,
} as const;

/**
 * Creates the namespaces. `folder` is an empty folder for the files of the node. Each program writes its PID to
 * `cgroupFile` before it starts.
 */
export async function startSandbox(folder: string, cgroupFile: string): Promise<Sandbox> {
  await writeFolders(folder);
  const namespaces = ["--net", "--mount", "--pid", "--ipc", "--propagation=private", "--fork", "--kill-child"];
  const script = path.join(folder, "sandbox.sh");
  const first = ["--mount-proc", "/usr/bin/env", PROGRAM_PATH, "/bin/sh", script, folder];
  const log = path.join(folder, "namespaces.log");
  const unshare = await startProcess("/usr/bin/unshare", [...namespaces, ...first], folder, log);
  const isReady = async (): Promise<boolean> => unshare.hasEnded() || (await exists(path.join(folder, "ready")));
  if (!(await until(isReady)) || unshare.hasEnded()) {
    await unshare.stop("SIGKILL");
    throw new Error(`the namespaces of the node cannot be created:\n${await unshare.logTail()}`);
  }
  const pid = await childOf(unshare.pid);
  const command = (program: string, args: readonly string[], cwd: string): Command => {
    const enter = [`--target=${pid}`, "--net", "--mount", "--pid", "--ipc", `--wdns=${cwd}`];
    const inCgroup = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', cgroupFile];
    return ["/usr/bin/nsenter", [...enter, "/usr/bin/env", PROGRAM_PATH, ...inCgroup, program, ...args]];
  };
  return {
    pid, command,
    run: async (program, args) => (await runTool(...command(program, args, folder), folder)).stdout,
    stop: async () => {
      // unshare ends when its child has ended, and the child ends when all processes in its namespace have ended.
      if (!unshare.hasEnded()) process.kill(pid, "SIGKILL");
      await unshare.ended;
    },
  };
}

/** Writes what the script mounts. */
async function writeFolders(folder: string): Promise<void> {
  for (const name of ["run", "log", "lib", "lib-work", "parameters"]) await mkdir(path.join(folder, name));
  for (const [name, value] of Object.entries(KERNEL_PARAMETERS)) {
    await writeFile(path.join(folder, "parameters", name.replaceAll("/", ".")), `${value}\n`);
  }
  await writeFile(path.join(folder, "sandbox.sh"), SCRIPT);
}

/**
 * containerd, the kubelet and the network plugins write to fixed paths in /run, /var/log and /var/lib. The mounts
 * redirect these writes to the folder. The shell waits for a child, and so it also reaps processes whose parent exited.
 */
const SCRIPT = `set -eu
mount --bind "$1/run" /run
mount --bind "$1/log" /var/log
mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$1/lib,workdir=$1/lib-work" /var/lib
${Object.keys(KERNEL_PARAMETERS)
  .map((name) => `mount --bind "$1/parameters/${name.replaceAll("/", ".")}" /proc/sys/${name}`)
  .join("\n")}
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
: > "$1/ready"
while :; do sleep 86400; done
`;

async function exists(file: string): Promise<boolean> {
  return readFile(file).then(() => true, () => false);
}

async function childOf(pid: number): Promise<number> {
  const [child = ""] = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ");
  if (child === "") throw new Error(`process ${pid} has no child process`);
  return Number(child);
}
