import { STATIC_IDENTITY } from "../contract/capa-kinds.ts";
import { CI_02, CI_03, CI_04, CI_05, CI_06, CI_08 } from "./identity-allowed.ts";
import { CI_20, CI_21, CI_22, CI_23, CI_24, CI_29, CI_35 } from "./identity-role.ts";
import { CI_00, CI_09 } from "./identity-shape.ts";
import { CI_25, CI_26, CI_27, CI_28 } from "./identity-source.ts";
import { CI_07, CI_30, CI_31 } from "./identity-use.ts";
import { subdomainFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { type SecretKey, type SecretMetadata, TOKEN_KEY } from "../model/identity-secret.ts";
import { isComplete } from "./change.ts";
import type { Check, Fault, QuickCheck } from "./check.ts";
import { CI_01, CI_11, type IdentityChange } from "./identity-change.ts";

const PATH = ["spec", "secretRef"] as const;

/** The Secret to which a static identity refers. `metadata` is null if the Secret does not exist. */
interface ReferredSecret {
  readonly fullName: string;
  readonly metadata: SecretMetadata | null;
}

/** Returns the Secret of a static identity. Returns null for other identities, and for a name that CI-11 rejects. */
function secretOf({ identity, inventory, settings }: IdentityChange): ReferredSecret | null {
  const { identitySecretNamespace: namespace } = settings;
  const name = identity.kind === STATIC_IDENTITY ? (identity.secretName ?? "") : "";
  if (namespace === null || name === "" || subdomainFaults(name).length > 0) return null;
  return { fullName: `${namespace}/${name}`, metadata: inventory.secrets.get(namespace, name) };
}

function* keyFaults(fullName: string, { name, state, similar }: SecretKey): Iterable<Fault> {
  if (similar !== null) {
    const message = `the Secret ${fullName} has the key ${quote(similar)}, not ${name}: the names are case-sensitive`;
    yield { path: PATH, message };
  } else if (name !== TOKEN_KEY && (state === "missing" || state === "empty")) {
    const message = `the Secret ${fullName} has ${state === "empty" ? "an empty key" : "no key"} ${name}`;
    yield { path: PATH, message, severity: "warn" };
  }
}

const MISSING_FIX = "create the Secret with the keys AccessKeyID and SecretAccessKey, or an identity that names "
  + "another Secret";

const CI_10: QuickCheck<IdentityChange> = {
  id: "CI-10",
  severity: "deny",
  waivable: true,
  reason: "CAPA reads a missing key of the Secret as empty, so that each call to AWS fails. A key in the wrong case is "
    + "missing. The check only warns about a missing Secret and a missing or empty key, because users write identities "
    + "and Secrets in any order. It never reads a value.",
  fix: "write the keys AccessKeyID and SecretAccessKey, and for a session SessionToken, to the Secret",
  example: "# The Secret creds has the keys accessKeyID and secretAccessKey.\nspec: {secretRef: creds}",
  requires: ["--identity-secret-namespace", "secrets"],
  *find(change): Iterable<Fault> {
    const secret = secretOf(change);
    if (secret === null) return;
    if (secret.metadata === null && isComplete(change)) {
      yield { path: PATH, message: `the Secret ${secret.fullName} does not exist`, fix: MISSING_FIX, severity: "warn" };
    }
    for (const key of secret.metadata?.keys ?? []) yield* keyFaults(secret.fullName, key);
  },
};

/** The checks that run when a CAPA identity changes. */
export const IDENTITY_CHECKS: readonly Check<IdentityChange>[] = [
  CI_00, CI_01, CI_02, CI_03, CI_04, CI_05, CI_06, CI_07, CI_08, CI_09, CI_10, CI_11,
  CI_20, CI_21, CI_22, CI_23, CI_24, CI_25, CI_26, CI_27, CI_28, CI_29, CI_30, CI_31, CI_35,
];
