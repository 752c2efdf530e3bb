/** A network: the first bits of an address of 32 or 128 bits. */
interface Network {
  readonly width: 32 | 128;
  readonly bits: bigint;
  readonly prefix: number;
}

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
const IPV6_GROUP = /^[0-9a-f]{1,4}$/i;
const PREFIX = /^\d{1,3}$/;

/** Whether an address is in a range, such as `10.0.0.0/8` or one address; null if one of the texts is invalid. */
export function isInRange(address: string, range: string): boolean | null {
  const one = parseNetwork(address);
  const all = parseNetwork(range);
  if (one === null || all === null || one.prefix !== one.width) return null;
  if (one.width !== all.width) return false;
  const shift = BigInt(all.width - all.prefix);
  return one.bits >> shift === all.bits >> shift;
}

function parseNetwork(text: string): Network | null {
  const [address = "", prefixText, ...others] = text.split("/");
  const width = address.includes(":") ? 128 : 32;
  const bits = width === 128 ? ipv6Bits(address) : ipv4Bits(address);
  if (bits === null || others.length > 0) return null;
  if (prefixText === undefined) return { width, bits, prefix: width };
  const prefix = PREFIX.test(prefixText) ? Number(prefixText) : Infinity;
  return prefix > width ? null : { width, bits, prefix };
}

function ipv4Bits(text: string): bigint | null {
  const bytes = IPV4.exec(text)?.slice(1).map(Number) ?? [];
  return bytes.length === 4 && bytes.every((byte) => byte < 256) ? joinBits(bytes, 8n) : null;
}

/** Parses groups, one of which may be `::`. Returns null for the forms that end in an IPv4 address. */
function ipv6Bits(text: string): bigint | null {
  const [head = "", tail, ...others] = text.split("::");
  if (others.length > 0) return null;
  const [first, last] = [groupsOf(head), groupsOf(tail ?? "")];
  const omitted = 8 - first.length - last.length;
  if (tail === undefined ? omitted !== 0 : omitted < 1) return null;
  const groups = [...first, ...Array.from({ length: omitted }, () => "0"), ...last];
  if (!groups.every((group) => IPV6_GROUP.test(group))) return null;
  return joinBits(groups.map((group) => Number.parseInt(group, 16)), 16n);
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":");
}

function joinBits(parts: readonly number[], width: bigint): bigint {
  return parts.reduce((bits, part) => (bits << width) | BigInt(part), 0n);
}
