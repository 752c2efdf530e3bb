import { styleText } from "node:util";
import type { Environment } from "../shared/server/settings.ts";

type Style = "red" | "yellow" | "green" | "cyan" | "dim" | "bold";
export type Paint = (style: Style, text: string) => string;

/** Colour on a terminal, unless NO_COLOR (https://no-color.org) or a dumb terminal says otherwise; plain text elsewhere. */
export function painter(stream: { readonly isTTY?: boolean }, environment: Environment): Paint {
  const plain = stream.isTTY !== true || (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
  return plain ? (_style, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}
