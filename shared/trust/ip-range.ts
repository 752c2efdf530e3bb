// oxlint-disable-next-line no-restricted-imports -- compares addresses, and opens no connection
import { BlockList, isIP } from "node:net";

const PREFIX = /^\d{1,3}$/;
/** The forms of IPv6 that end in an IPv4 address or in a zone. AWS does not document that it reads them. */
const UNCERTAIN = /:.*[.%]/;

/** Whether an address is in a range, such as `10.0.0.0/8` or one address; null if one of the texts is invalid. */
export function isInRange(address: string, range: string): boolean | null {
  const [network = "", prefix, ...others] = range.split("/");
  const [version, ofRange] = [versionOf(address), versionOf(network)];
  if (version === null || ofRange === null || others.length > 0) return null;
  const width = ofRange === "ipv4" ? 32 : 128;
  const bits = prefix === undefined ? width : PREFIX.test(prefix) ? Number(prefix) : Infinity;
  if (bits > width) return null;
  const list = new BlockList();
  list.addSubnet(network, bits, ofRange);
  // A list also compares `::ffff:a00:1` with the ranges of IPv4.
  return version === ofRange && list.check(address, version);
}

function versionOf(address: string): "ipv4" | "ipv6" | null {
  const version = isIP(address);
  if (version === 0 || UNCERTAIN.test(address)) return null;
  return version === 4 ? "ipv4" : "ipv6";
}
