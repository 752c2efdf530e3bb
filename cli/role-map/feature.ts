import { addReader } from "../command-context.ts";
import type { Feature } from "../feature.ts";
import { help, rare } from "../help-rows.ts";

const MAP = "write a page that shows which role and account each namespace uses, and why";

/** The page that shows the roles of each namespace: of manifests, of a change, and of the running servers. */
export const ROLE_MAP: Feature = {
  commands: {
    map: (program, context) => (
      addReader(program, context, ["map", MAP], async () => (await import("./map.ts")).runMap)
    ),
  },
  examples: {
    map: [
      "ack-role-resolver map manifests --html role-map.html",
      "ack-role-resolver map --cluster --html role-map.html",
    ],
  },
  help: {
    html: help(
      "Output", "page to write: one HTML file that needs no network, or - for standard output",
      { impact: "page to write, with the roles before and after" },
    ),
    ui: rare("Server", "loopback address of the role map, a page that only reads (default: none)"),
  },
  impactPage: async (settings) => (
    settings.html === null ? null : (await import("./impact-page.ts")).impactPage(settings, settings.html)
  ),
  localServer: {
    name: "map", purpose: "the roles in a browser; it follows the manifests",
    start: async (...input) => (await import("./local-map.ts")).startLocalMap(...input),
  },
};
