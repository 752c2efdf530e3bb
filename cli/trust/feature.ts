import type { Command as Commander } from "commander";
import type { Flags } from "../../shared/server/read-settings.ts";
import { type CommandContext, settingsOf } from "../command-context.ts";
import type { Feature } from "../feature.ts";
import { TRUST_HELP } from "./trust-help.ts";

/** Whether IAM lets the controllers assume the roles that objects name, by exports of IAM. */
export const TRUST: Feature = {
  commands: { trust: addTrust },
  examples: {
    trust: [
      "ack-role-resolver trust --from manifests --iam iam.json \\",
      "    --caller arn:aws:iam::111122223333:role/ack --via sidecar \\",
      "    --caller-credentials pod-identity",
    ],
    "trust check": [
      "ack-role-resolver trust check --iam iam.json \\",
      "    --caller arn:aws:iam::111122223333:role/ack \\",
      "    --role arn:aws:iam::444455556666:role/team-a --external-id team-a",
    ],
    "trust who": [
      "ack-role-resolver trust who team-a --from manifests --iam iam.json \\",
      "    --intended arn:aws:iam::111122223333:role/ack",
      "ack-role-resolver trust who --all --iam iam.json -o json",
    ],
    "trust policy": [
      "ack-role-resolver trust policy team-a --from manifests -o terraform \\",
      "    --caller arn:aws:iam::111122223333:role/ack",
      "ack-role-resolver trust policy --all --cluster --iam iam.json --diff \\",
      "    --caller arn:aws:iam::111122223333:role/ack",
    ],
  },
  help: TRUST_HELP,
  roleReviewer: {
    isAsked: ({ iam, aws }) => iam.length + aws.length > 0,
    review: async (...input) => (await import("./role-review.ts")).reviewRoles(...input),
  },
};

function addTrust(program: Commander, { io, done, add }: CommandContext): void {
  const roles = "tell whether controllers can assume the roles that objects name, from exports of IAM";
  const trust = add(program, "trust", roles).helpCommand(false).enablePositionalOptions()
    .action(async (flags: Flags) => {
      const { runTrust } = await import("./trust.ts");
      done(await runTrust(settingsOf("trust", flags, io), io));
    });
  const help = "tell whether a caller can assume a role, from exports of IAM";
  add(trust, "trust check", help).action(async (flags: Flags) => {
    const { runTrustCheck } = await import("./trust-check.ts");
    done(await runTrustCheck(settingsOf("trust check", flags, io), io));
  });
  add(trust, "trust who", "list who else can assume a role, directly and through other roles")
    .argument("[TARGET]", "ARN of a role, a selector, or KIND/NAME of an identity or a CARM map")
    .action(async (target: string | undefined, flags: Flags) => {
      const { runTrustWho } = await import("./trust-who.ts");
      done(await runTrustWho(target ?? null, settingsOf("trust who", flags, io), io));
    });
  add(trust, "trust policy", "print the policies that roles and their callers need")
    .argument("[NAME]", "selector, or KIND/NAME of an identity or a CARM map")
    .action(async (name: string | undefined, flags: Flags) => {
      const { runTrustPolicy } = await import("./trust-policy.ts");
      done(await runTrustPolicy(name ?? null, settingsOf("trust policy", flags, io), io));
    });
}
