import { ACCOUNT_MAP } from "../core/annotation-keys.ts";
import { ACCOUNT_ID, accountOfARN } from "../formats/arn.ts";
import { plainScalar, scalarKey } from "../formats/yaml-scalars.ts";
import { type ConfigMapChange, dataPath, isFloatKey } from "./carm-map-entries.ts";
import type { Fault, QuickCheck } from "../core/check.ts";

export const CM_16: QuickCheck<ConfigMapChange> = {
  id: "CM-16",
  severity: "deny",
  deniesInCARM: true,
  reason: "YAML reads a key without quotes as a number or a boolean if it looks like one, and kubectl writes this "
    + "value as the key. An account id that starts with 0 becomes another number, so controllers find no role for it.",
  fix: "put the key in quotes",
  example: "data: {012345670123: 'arn:aws:iam::012345670123:role/a'} # YAML reads the key as 1402433619",
  *find({ data, name }): Iterable<Fault> {
    for (const [key, value] of data) {
      const fault = quotesFault(key, { map: name, account: accountOfARN(value) ?? "" });
      if (fault !== null) yield { path: dataPath(key), ...fault };
    }
  },
};

function quotesFault(
  key: string, { map, account }: { readonly map: string; readonly account: string },
): Omit<Fault, "path"> | null {
  const number = `the key is the number ${key}`;
  if (key !== account && ACCOUNT_ID.test(account) && scalarKey(plainScalar(account)) === key) {
    return { message: `${number}, as which YAML reads ${account}`, fix: `put the key in quotes: "${account}"` };
  }
  if (isFloatKey(key)) return { message: `${number}, not a text` };
  const words = WORDS.get(key);
  if (words !== undefined) {
    return { message: `the key is ${key}, as which YAML also reads ${words}`, severity: "warn" };
  }
  // The key may be a text, because a key need not be an account id.
  if (map !== ACCOUNT_MAP || !/^[0-9]+$/.test(key) || ACCOUNT_ID.test(key)) return null;
  const message = `${number}, but an account id has 12 digits`;
  return { message, fix: "put the 12 digits of the account id in quotes", severity: "warn" };
}

const WORDS: ReadonlyMap<string, string> = new Map([["true", "y, yes and on"], ["false", "n, no and off"]]);
