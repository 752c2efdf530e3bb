import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

/** Calls `onEvent` when something under `path` may have changed; the function returned ends it. */
export type WatchPath = (path: string, onEvent: () => void) => () => void;

/**
 * The operating system's own notices. They are a short cut and no more: some file systems send none, limits on watches may be reached, and
 * a folder may be replaced under the watch, so whoever calls this looks for itself too.
 */
export const watchPath: WatchPath = (path, onEvent) => {
  const watchers: FSWatcher[] = [];
  // The folder around a path as well: editors and Kubernetes' volumes replace what is watched by a rename.
  for (const [target, recursive] of [[path, true], [dirname(path), false]] as const) {
    try {
      watchers.push(watch(target, { recursive, persistent: false }, onEvent).on("error", onEvent));
    } catch {
      // Not watchable; polling sees it.
    }
  }
  return () => watchers.forEach((watcher) => watcher.close());
};
