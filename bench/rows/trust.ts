import type { RoleTarget } from "../../shared/core/role-target.ts";
import { NO_EXTRAS } from "../../shared/core/session.ts";
import type { RoleCaller } from "../../shared/trust/role-caller.ts";
import { TrustCallers } from "../../shared/trust/trust-rows.ts";
import { dataOf, document, exportOf, roleDetail } from "../../test/shared/trust/iam-export.ts";
import { allow, type Fields, grant } from "../../test/shared/trust/trust-cases.ts";
import { atMost } from "../figure.ts";
import { builtCommand } from "../programs.ts";
import { inRounds, type Row } from "../row.ts";
import { writeDenseExports, writeLargeExport } from "../scale/iam-exports.ts";
import { costOf } from "./commands.ts";

const ROUNDS = 5;
const CALLERS = [0, 1, 2, 3, 4].map((i) => `arn:aws:iam::111122223333:role/ack-${i}`);
const CALLER_STATEMENTS = 20;

function targetAt(i: number): RoleTarget {
  const name = `team-${i}`;
  const extras = { ...NO_EXTRAS, externalID: name, tags: [{ key: "team", value: name }] };
  return { kind: "selector", name, roleARN: `arn:aws:iam::222222222222:role/${name}`, namespace: name, extras };
}

/** Returns a role whose trust policy demands the external ID and the tag of its team. */
function roleAt({ name, roleARN }: RoleTarget): Fields {
  const ofTag = { Action: "sts:TagSession", Condition: { StringLike: { "aws:RequestTag/team": `${name}*` } } };
  const ofID = { Sid: "Callers", Condition: { StringEquals: { "sts:ExternalId": name } } };
  return roleDetail(roleARN, document(allow({ AWS: CALLERS }, ofID), allow({ AWS: CALLERS }, ofTag)));
}

function callerDetail(arn: string): Fields {
  const others = Array.from({ length: CALLER_STATEMENTS }, (_, i) => grant({ Action: `s3:Get${i}` }));
  const sts = grant({ Action: ["sts:AssumeRole", "sts:TagSession"], Resource: "arn:aws:iam::*:role/team-*" });
  return roleDetail(arn, document(), {
    RolePolicyList: [{ PolicyName: "sts", PolicyDocument: document(...others, sts) }],
  });
}

/** Examines every role for every caller, with policies that have not been parsed. Returns the time in ms. */
function examineMs(targets: readonly RoleTarget[]): number {
  const data = dataOf(
    exportOf({ RoleDetailList: targets.map(roleAt) }), exportOf({ RoleDetailList: CALLERS.map(callerDetail) }),
  );
  const sidecar = { sessionName: "ack-role-resolver", defaults: NO_EXTRAS };
  const callers = CALLERS.map((arn): RoleCaller => ({ arn, via: "sidecar", credentials: "pod-identity", sidecar }));
  const start = performance.now();
  const asked = new TrustCallers({ callers, data, nowSeconds: 1_795_000_000 });
  const rows = targets.flatMap((target) => asked.rowsOf(target));
  const elapsed = performance.now() - start;
  if (rows.some(({ decision }) => decision.verdict !== "yes")) throw new Error("a caller cannot assume a role");
  return elapsed;
}

const TRUST_ROW: Row = {
  name: "trust-1000", title: "whether 5 callers can assume 1,000 roles",
  measure: async (stage) => {
    const targets = Array.from({ length: stage.size(1_000, 50) }, (_, i) => targetAt(i));
    const [ours = []] = await inRounds(ROUNDS, [async () => examineMs(targets)]);
    return [{ name: "all answers", unit: "ms", ours, goal: atMost(1_000, "value") }];
  },
};

const WHO_ROW: Row = {
  name: "trust-who-200000", title: "who else can assume each of 200,000 roles in 200 accounts, each trusting 10 others",
  measure: async (stage) => {
    const size = { accounts: stage.size(200, 4), roles: stage.size(1_000, 50) };
    const files = writeDenseExports(size, (name) => stage.file(name));
    const inputs = files.flatMap((file) => ["--iam", file]);
    const argv = [await builtCommand(stage), "trust", "who", "--all", "-o", "json", ...inputs];
    const [costs = []] = await inRounds(stage.size(3, 1), [() => costOf(argv)]);
    return [
      { name: "processor time", unit: "ms", ours: costs.map((one) => one.processorMs), goal: atMost(10_000, "value") },
      { name: "peak memory", unit: "MB", ours: costs.map((one) => one.peakMB) },
    ];
  },
};

const MEMORY_ROW: Row = {
  name: "trust-memory", title: "one question about an export of 200 MB",
  measure: async (stage) => {
    const file = stage.file("large.json");
    const role = writeLargeExport(stage.size(200_000_000, 1_000_000), file);
    const argv = [await builtCommand(stage), "trust", "check", "--iam", file, "--caller", role, "--role", role];
    const [costs = []] = await inRounds(stage.size(3, 1), [() => costOf(argv)]);
    return [
      { name: "peak memory", unit: "MB", ours: costs.map((one) => one.peakMB), goal: atMost(600, "value") },
      { name: "processor time", unit: "ms", ours: costs.map((one) => one.processorMs) },
    ];
  },
};

export const TRUST_ROWS: readonly Row[] = [TRUST_ROW, WHO_ROW, MEMORY_ROW];
