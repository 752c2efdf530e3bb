import { spawn } from "node:child_process";
import { once } from "node:events";

/** A process that removes the files and cgroups of a node if the test process is killed. */
interface Cleaner {
  /** Ends the process, which then removes nothing. */
  end(): Promise<void>;
}

/**
 * Starts a shell that reads from a pipe of this process. When the test process ends, even by SIGKILL, the read ends.
 * The shell then removes the folders. It repeats this for up to 30 s, because a cgroup can be removed only after its
 * processes have ended.
 */
export function startCleaner(folder: string, cgroups: readonly string[]): Cleaner {
  const cleaner = spawn("/bin/sh", ["-c", SCRIPT, folder, ...cgroups], { stdio: ["pipe", "ignore", "ignore"] });
  const exited = once(cleaner, "exit");
  return {
    end: async () => {
      cleaner.kill("SIGKILL");
      await exited;
    },
  };
}

const SCRIPT = `trap "" HUP INT TERM
read -r line
for attempt in $(seq 150); do
  rm -rf "$0"
  find "$@" -depth -type d -exec rmdir {} +
  left=$(ls -d "$0" "$@")
  [ -z "$left" ] && exit
  sleep 0.2
done
`;
