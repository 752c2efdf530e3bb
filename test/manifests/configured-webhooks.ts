import type { V1MutatingWebhook, V1ValidatingWebhook } from "@kubernetes/client-node";
import type { Test } from "tap";
import { mutatingWebhooks, validatingWebhooks, type WebhookOptions } from "../../manifests/webhooks.ts";
import { ACK_GROUPS } from "../../shared/core/ack-groups.ts";

export const OPTIONS: WebhookOptions = {
  namespace: "ack-role-resolver", ackSystemNamespace: "ack-system", url: null, caBundle: null, ackGroups: ACK_GROUPS,
  enabled: new Set(["injection"]),
};

type Configured = V1MutatingWebhook | V1ValidatingWebhook;

/** Returns the webhooks of both configurations. */
export function configured(options: Partial<WebhookOptions> = {}): Configured[] {
  const all = { ...OPTIONS, ...options };
  return [...mutatingWebhooks(all).webhooks ?? [], ...validatingWebhooks(all).webhooks ?? []];
}

/** Returns the webhook of this name, without the domain. */
export function named(t: Test, name: string, options: Partial<WebhookOptions> = {}): Configured {
  const found = configured(options).find((webhook) => webhook.name === `${name}.ack-role-resolver.io`);
  if (found === undefined) throw new Error(`${t.name}: no webhook ${name}`);
  return found;
}
