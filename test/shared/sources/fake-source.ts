import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { ManifestSource } from "../../../shared/sources/file-source.ts";
import { FakeClock } from "../fake-clock.ts";

export const selector = (name: string, namespace = "team-a"): string =>
  JSON.stringify({
    apiVersion: "services.k8s.aws/v1alpha1",
    kind: "IAMRoleSelector",
    metadata: { name },
    spec: { arn: `arn:aws:iam::111111111111:role/${name}`, namespaceSelector: { names: [namespace] } },
  });

export const names = (source: ManifestSource): string[] => [...source.inventory.of(SELECTORS).keys()].toSorted();

interface FakeSource {
  readonly source: ManifestSource;
  readonly clock: FakeClock;
  /** Sends a file event for every watched path. */
  readonly sendEvent: () => void;
  readonly watched: readonly string[];
  /** The number of watches that were stopped. */
  readonly stopped: () => number;
}

/** A source with a fake clock and without file events from the operating system. */
export function fakeSource(paths: readonly string[]): FakeSource {
  const clock = new FakeClock();
  const watched: string[] = [];
  const listeners: (() => void)[] = [];
  let stopped = 0;
  const watch = (path: string, onEvent: () => void): (() => void) => {
    watched.push(path);
    listeners.push(onEvent);
    return () => void stopped++;
  };
  const sendEvent = (): void => listeners.forEach((listener) => listener());
  const source = new ManifestSource(paths, { runtime: "ack", clock, watch });
  return { source, clock, sendEvent, watched, stopped: () => stopped };
}

/** Sends a file event, and resolves after the files are read. */
export async function reload({ clock, sendEvent }: FakeSource): Promise<void> {
  sendEvent();
  clock.advance(50);
  await clock.scheduled(() => true);
}
