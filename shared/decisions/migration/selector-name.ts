import type { MapAnswer } from "../carm.ts";

/** What a generated selector is named after. */
export interface NameSource {
  readonly via: MapAnswer["via"];
  readonly key: string;
  /** The service whose own key it is, or null for the plain one. */
  readonly service: string | null;
}

const LENGTH = 253; // of an object's name (RFC 1123 subdomain)

/** The object name for a key: the key itself where it is one, so that the same key gives the same name at any time; never a taken one. */
export function selectorName(source: NameSource, isTaken: (name: string) => boolean): string {
  const plain = plainName(source);
  const name = asSubdomain(plain);
  // A key that had to be changed might meet another one that is changed to the same: its digest keeps them apart.
  return name === plain && !isTaken(name) ? name : digestedName(name, `${source.via}/${plain}`, isTaken);
}

function digestedName(name: string, id: string, isTaken: (name: string) => boolean): string {
  const digest = digestOf(id);
  const digested = `${name.slice(0, LENGTH - digest.length - 1).replace(/[-.]+$/, "")}-${digest}`;
  return isTaken(digested) ? digestedName(name, `${id}/`, isTaken) : digested;
}

/** An account's number says by itself neither to a reader nor to YAML what it is. */
function plainName({ key, service }: NameSource): string {
  if (service !== null) return `${service}.${key}`;
  return /^[0-9]+$/.test(key) ? `account-${key}` : key;
}

function asSubdomain(text: string): string {
  const labels = text.toLowerCase().split(".").map((label) => label.replace(/[^-a-z0-9]/g, "-").replace(/^-+|-+$/g, ""));
  const name = labels.filter((label) => label !== "").join(".").slice(0, LENGTH).replace(/[-.]+$/, "");
  return name === "" ? "role" : name;
}

/** FNV-1a of 32 bits over UTF-16 code units, as 8 hexadecimal digits: nothing here is secret, only different. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
