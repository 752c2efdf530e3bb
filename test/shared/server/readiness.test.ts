import { test } from "tap";
import {
  notLoaded, sidecarReadiness, type SidecarReadinessInput, webhookReadiness, type WebhookReadinessInput,
} from "../../../shared/server/readiness.ts";
import type { SourceStatus } from "../../../shared/sources/source.ts";

const INVENTORY = {
  inventory: { loaded: true, lastSyncMs: 0, fault: null }, steadyMs: 300_000,
};
const WEBHOOK: WebhookReadinessInput = {
  ...INVENTORY, nowMs: 300_000, draining: false, certificateNotAfter: new Date(1_000_000), missingHosts: [],
};
const SIDECAR: SidecarReadinessInput = {
  ...INVENTORY, base: { usable: true, fault: null }, watched: [],
};
const PROFILE = "the profile of the installation";
const SECRETS = "the list of Secrets";
function withWatch(subject: string, status: SourceStatus): SidecarReadinessInput {
  return { ...SIDECAR, watched: [{ subject, status }] };
}

const UNLOADED = { loaded: false, lastSyncMs: null, fault: "a.yaml:1: bad\nb.yaml:2: bad" };

test("states why a request finds no inventory", (t) => {
  t.match(notLoaded({ lastSyncMs: null }), {
    code: "ERR_NOT_READY", message: "The inventory is not loaded yet. Retry in a moment.",
  });
  t.match(notLoaded({ lastSyncMs: 1 }), {
    code: "ERR_NOT_READY", message: "The inventory is older than 5 minutes. Retry in a moment.",
  });
  t.end();
});

test("the webhook is ready if the inventory is not older than 5 minutes", (t) => {
  t.same(webhookReadiness(WEBHOOK), { ready: true, reasons: [], warnings: [] });
  const faulty = { loaded: true, lastSyncMs: 0, fault: "a blip" };
  t.same(
    webhookReadiness({ ...WEBHOOK, inventory: faulty, steadyMs: 1 }),
    { ready: true, reasons: [], warnings: ["the inventory is stale, and was last current 1 s ago: a blip"] },
    "a stale inventory is reported immediately",
  );
  t.equal(webhookReadiness({ ...WEBHOOK, steadyMs: 300_001 }).ready, false);
  t.end();
});

test("the webhook warns about a certificate for other names", (t) => {
  t.same(webhookReadiness({ ...WEBHOOK, missingHosts: ["a.svc", "b.svc"] }), {
    ready: true, reasons: [], warnings: ["the serving certificate is not valid for a.svc, b.svc"],
  });
  t.end();
});

test("the webhook lists each reason why it is unready on a separate line", (t) => {
  t.same(webhookReadiness({ ...WEBHOOK, draining: true, inventory: UNLOADED, nowMs: 1_000_000 }), {
    ready: false,
    reasons: [
      "the webhook is shutting down",
      "the inventory is not loaded yet: a.yaml:1: bad; b.yaml:2: bad",
      "the serving certificate expired at 1970-01-01T00:16:40.000Z",
    ],
    warnings: [],
  });
  const faulty = { loaded: true, lastSyncMs: 0, fault: "the API server denies the request" };
  t.same(webhookReadiness({ ...WEBHOOK, inventory: faulty, steadyMs: 400_000 }).reasons, [
    "the inventory is 400 s old (maximum: 300 s): the API server denies the request",
  ]);
  t.end();
});

test("the sidecar is ready if the inventory is current and the base identity is usable", (t) => {
  t.same(sidecarReadiness(SIDECAR), { ready: true, reasons: [], warnings: [] });
  const troubled = {
    ...SIDECAR,
    inventory: { loaded: true, lastSyncMs: 0, fault: "a blip" },
    base: { usable: true, fault: "STS cannot be reached" },
  };
  t.same(
    sidecarReadiness(troubled),
    { ready: true, reasons: [], warnings: ["the inventory is stale, and was last current 300 s ago: a blip"] },
    "the base identity is usable after a failed renewal",
  );
  t.same(sidecarReadiness({ ...SIDECAR, steadyMs: 300_001 }), {
    ready: false, reasons: ["the inventory is 301 s old (maximum: 300 s)"], warnings: [],
  });
  const neverSynced = { loaded: true, lastSyncMs: null, fault: null };
  t.equal(sidecarReadiness({ ...SIDECAR, inventory: neverSynced }).ready, false);
  t.end();
});

test("the sidecar lists each reason why it is unready on a separate line", (t) => {
  const unusable = { usable: false, fault: "no credentials" };
  t.same(sidecarReadiness({ ...SIDECAR, inventory: UNLOADED, base: unusable }).reasons, [
    "the inventory is not loaded yet: a.yaml:1: bad; b.yaml:2: bad", "no credentials",
  ]);
  t.same(sidecarReadiness({ ...SIDECAR, base: { usable: false, fault: null } }).reasons, [
    "STS has not verified the base identity yet",
  ]);
  t.end();
});

test("the sidecar treats the profile of the installation like the inventory", (t) => {
  const fault = "ConfigMap platform/ack-role-resolver-profile does not exist";
  t.same(sidecarReadiness(withWatch(PROFILE, { loaded: false, lastSyncMs: null, fault })).reasons, [
    `the profile of the installation is not loaded yet: ${fault}`,
  ]);
  t.same(sidecarReadiness(withWatch(PROFILE, { loaded: true, lastSyncMs: 0, fault })).warnings, [
    `the profile of the installation is stale, and was last current 300 s ago: ${fault}`,
  ]);
  t.end();
});

test("the sidecar treats the list of Secrets like the inventory", (t) => {
  const fault = "not allowed to list secrets";
  const loaded = { loaded: true, lastSyncMs: 0, fault };
  t.same(sidecarReadiness(withWatch(SECRETS, { loaded: false, lastSyncMs: null, fault })), {
    ready: false, reasons: [`the list of Secrets is not loaded yet: ${fault}`], warnings: [],
  });
  t.same(sidecarReadiness(withWatch(SECRETS, { ...loaded, fault: null })), {
    ready: true, reasons: [], warnings: [],
  });
  t.same(sidecarReadiness(withWatch(SECRETS, loaded)), {
    ready: true, reasons: [], warnings: [`the list of Secrets is stale, and was last current 300 s ago: ${fault}`],
  });
  const current = { loaded: true, lastSyncMs: 300_001, fault: null };
  t.same(sidecarReadiness({ ...withWatch(SECRETS, loaded), inventory: current, steadyMs: 300_001 }).reasons, [
    `the list of Secrets is 301 s old (maximum: 300 s): ${fault}`,
  ]);
  t.end();
});
