/** A key of one's own making, in the form of STS's temporary ones. */
export interface NewKeys {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

const KEY_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

export function makeKeys(randomBytes: (size: number) => Buffer): NewKeys {
  const letters = Array.from(randomBytes(16), (byte) => KEY_LETTERS.charAt(byte % KEY_LETTERS.length)).join("");
  return { accessKeyID: `ASIA${letters}`, secretAccessKey: randomBytes(30).toString("base64"), sessionToken: randomBytes(192).toString("base64") };
}
