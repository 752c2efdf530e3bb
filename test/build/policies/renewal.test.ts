import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "tap";
import { assemble, type Published } from "../../../build/policies/assemble.ts";
import { readCheckout } from "../../../build/policies/checkout.ts";
import published from "../../../build/policies/published.json" with { type: "json" };
import { publishedOf } from "../../../build/policies/published.ts";
import { Reference } from "../../../build/policies/reference.ts";
import { REVIEWED, type Reviewed } from "../../../build/policies/reviewed.ts";
import { allowedActions } from "../../../build/policies/statements.ts";
import { scopesText } from "../../../build/policies/table.ts";

const REFERENCE = {
  demo: { privileges: {
    CreateThing: { resource_types: {
      thing: { dependent_actions: ["iam:PassRole", "demo:TagThing", "ec2:DescribeVpcs"] },
    } },
    GetThing: { resource_types: {} },
  } },
};
const POLICY = { Statement: [
  { Effect: "Allow", Action: ["demo:List* ", "s3:GetObject"], Resource: "*" },
  { Effect: "Allow", NotAction: "iam:*", Resource: "*" }, { Effect: "Deny", Action: "demo:Delete*", Resource: "*" },
] };
const REVIEW: Reviewed = {
  services: ["demo"], own: "recommended", passTo: ["demo.amazonaws.com"], linkedRoles: [], usesKeys: false,
  keysThrough: [], deliversLogs: false, adds: [], drops: ["s3:*"],
};

test("reads the checkout of a controller, and writes what it needs", (t) => {
  const folder = t.testdir({
    "reference.json": JSON.stringify(REFERENCE),
    "demo-controller": {
      config: { iam: {
        "recommended-inline-policy": JSON.stringify(POLICY), "recommended-policy-arn": "arn:aws:iam::aws:policy/Demo\n",
      } },
      pkg: { resource: {
        "sdk.go": "resp, err = rm.sdkapi.CreateThing(ctx, input)\n_, err = rm.sdkapi.GetThing(ctx, input)",
        "sdk_test.go": "api.DeleteThing(ctx, input)",
      } },
    },
  });
  const checkout = `${folder}/demo-controller`;
  const git = (...argv: readonly string[]): void => void execFileSync("git", ["-C", checkout, ...argv]);
  git("init", "--quiet");
  git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "--message", "demo");
  const managed = { name: "Demo", statements: allowedActions({ Statement: { Effect: "Allow", Action: "demo:Put*" } }) };
  const controller = readCheckout(checkout, (name) => ({ ...managed, name }));
  t.match(controller, { service: "demo", commit: /^[0-9a-f]{7,}$/, date: /^\d{4}-/ });
  t.same(controller.calls, ["CreateThing", "GetThing"]);
  const found = publishedOf(controller, REVIEW, new Reference(`${folder}/reference.json`));
  t.match(found, {
    recommended: ["demo:List*", "demo:Put*"], called: ["demo:CreateThing", "demo:GetThing", "demo:TagThing"],
    inline: ["s3:GetObject"], dependent: { "ec2:DescribeVpcs": ["CreateThing"], "iam:PassRole": ["CreateThing"] },
  });
  const { actions, foreign } = assemble("demo", found, REVIEW);
  t.same(actions, ["demo:CreateThing", "demo:GetThing", "demo:List*", "demo:Put*", "demo:TagThing"]);
  t.match(foreign, [
    { actions: ["iam:PassRole"], only: { key: "iam:PassedToService", values: ["demo.amazonaws.com"] } },
    { actions: ["ec2:DescribeVpcs"], from: "dependent actions of CreateThing" },
  ]);
  t.equal(foreign.length, 2, "what was dropped is not there");
  t.throws(() => readCheckout(folder, () => managed), { message: /is not the checkout of a controller/ });
  t.end();
});

test("asks a person to which service a controller passes roles, and never widens what is restricted", (t) => {
  const demands: Published = {
    date: "2026-01-01", commit: "abc", calls: [], recommended: [], called: [], inline: ["iam:PassRole"], dependent: {},
  };
  t.throws(() => assemble("demo", demands, { ...REVIEW, passTo: [] }), { message: "demo: passTo is missing" });
  const linked = { ...demands, inline: ["iam:CreateServiceLinkedRole"] };
  t.throws(() => assemble("demo", linked, REVIEW), { message: "demo: linkedRoles is missing" });
  const whole: Reviewed = { ...REVIEW, services: ["kms"], usesKeys: true };
  const own = { ...demands, inline: [], recommended: ["kms:CreateGrant"] };
  t.throws(() => assemble("demo", own, whole), { message: /restricted, and an own action/ });
  const iam = { ...demands, inline: [], recommended: ["iam:PassRole", "iam:GetRole"] };
  t.same(assemble("iam", iam, { ...REVIEW, services: ["iam"] }).actions, ["iam:GetRole"]);
  t.end();
});

test("the table is what the sources and the reviewed file make", (t) => {
  const file = readFileSync(new URL("../../../shared/core/ack-scopes.json", import.meta.url), "utf8");
  t.equal(scopesText(published), file);
  t.same([...REVIEWED.keys()].toSorted(), Object.keys(published).toSorted());
  const other = { date: "", commit: "", calls: [], recommended: [], called: [], inline: [], dependent: {} };
  t.throws(() => scopesText({ other }), { message: /no row for other/ });
  t.end();
});
