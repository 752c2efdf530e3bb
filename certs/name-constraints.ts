import { isIP } from "node:net";
import forge from "node-forge";
import { stringAt } from "../shared/formats/json.ts";
import { parsed } from "./pem.ts";

declare module "node-forge" {
  namespace util {
    /** Returns the bytes of a valid IP address. Missing in the type declarations of node-forge. */
    function bytesFromIP(address: string): string;
  }
}

const { asn1 } = forge;
const ID = "2.5.29.30";
// The GeneralName choices of RFC 5280, section 4.2.1.6.
const DNS_CHOICE = 2;
const IP_CHOICE = 7;
const PERMITTED = 0;
const EXCLUDED = 1;

/** The extension NameConstraints of a CA certificate (RFC 5280, 4.2.1.10). */
export const nameConstraints = {
  id: ID,
  /**
   * Returns the DER value that permits only `names` and subdomains of the DNS names. If `names` contains no IP address,
   * or no DNS name, the value excludes all of them: without such an entry, a kind of name would not be limited.
   */
  encode(names: readonly string[]): string {
    const addresses = names.filter((name) => isIP(name) !== 0).toSorted();
    const domains = names.filter((name) => isIP(name) === 0).toSorted();
    const permitted = [
      ...domains.map((domain) => subtree(DNS_CHOICE, domain)),
      ...addresses.map((address) => subtree(IP_CHOICE, addressRange(address))),
    ];
    const excluded = [
      ...(domains.length === 0 ? [subtree(DNS_CHOICE, "")] : []),
      ...(addresses.length === 0 ? [subtree(IP_CHOICE, "\0".repeat(8)), subtree(IP_CHOICE, "\0".repeat(32))] : []),
    ];
    const lists = [choice(PERMITTED, permitted), ...(excluded.length > 0 ? [choice(EXCLUDED, excluded)] : [])];
    return asn1.toDer(asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SEQUENCE, true, lists)).getBytes();
  },
};

/** Whether the PEM certificate has exactly the name constraints that `encode(names)` creates. */
export function permitsOnly(pem: string, names: readonly string[]): boolean {
  return constraintsOf(pem) === nameConstraints.encode(names);
}

/**
 * Returns the DER value of the name constraints of the PEM certificate. Returns null for a certificate without name
 * constraints, which permits every name, and for a certificate that node-forge cannot read, such as one of an EC key.
 */
export function constraintsOf(pem: string): string | null {
  return parsed(() => stringAt(forge.pki.certificateFromPem(pem).getExtension("nameConstraints"), "value"));
}

function subtree(type: number, value: string): forge.asn1.Asn1 {
  const base = asn1.create(asn1.Class.CONTEXT_SPECIFIC, type, false, value);
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SEQUENCE, true, [base]);
}

function choice(type: number, subtrees: forge.asn1.Asn1[]): forge.asn1.Asn1 {
  return asn1.create(asn1.Class.CONTEXT_SPECIFIC, type, true, subtrees);
}

/** Returns the bytes of the address, followed by a mask that matches only this address. */
function addressRange(address: string): string {
  const bytes = forge.util.bytesFromIP(address);
  return bytes + "\xFF".repeat(bytes.length);
}
