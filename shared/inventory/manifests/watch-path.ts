import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

/** Calls `onEvent` when a file under `path` could have changed. Returns a function that stops the watch. */
export type WatchPath = (path: string, onEvent: () => void) => () => void;

/**
 * Watches `path` with file events of the operating system. The caller must also poll. Some file systems send no events,
 * the number of watches is limited, and a watched folder can be replaced.
 */
export const watchPath: WatchPath = (path, onEvent) => {
  const watchers: FSWatcher[] = [];
  // Also watches the parent folder, because editors and Kubernetes volumes replace a file by a rename.
  for (const [target, recursive] of [[path, true], [dirname(path), false]] as const) {
    try {
      watchers.push(watch(target, { recursive, persistent: false }, onEvent).on("error", onEvent));
    } catch {
      // Ignores the error, because polling detects the changes.
    }
  }
  return () => watchers.forEach((watcher) => watcher.close());
};
