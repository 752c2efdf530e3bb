import type { StartPart } from "../part.ts";

/** Serves the role map if --ui is set. */
export const startRoleMap: StartPart = async ({ ui }, { log, ...ports }) => {
  if (ui === null) return async () => undefined;
  // Loaded on demand, because it contains the page.
  const { startLiveMap } = await import("./live-map.ts");
  const map = await startLiveMap(ui, ports);
  log.info({ address: map.address }, "role map listening");
  return () => map.close();
};
