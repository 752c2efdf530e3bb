import * as fc from "fast-check";
import type { JsonObject } from "../../shared/formats/json.ts";
import {
  identityObject, INFRASTRUCTURE, roleIdentity, staticIdentity,
} from "../shared/capa-objects.ts";
import { namespaceObject } from "../shared/objects.ts";
import { SidecarUnderTest } from "../sidecar/sidecar-under-test.ts";
import { hostile, type Hostile, toJSON } from "./hostile.ts";
import { check, encoded, HEADER_BYTES, parsed, text } from "./sidecar.ts";
import { type Target, target } from "./target.ts";

const FIELDS = [
  "roleARN", "sessionName", "externalID", "inlinePolicy", "policyARNs", "tags", "transitiveTags", "durationSeconds",
  "sourceIdentityRef", "allowedNamespaces",
] as const;
const KEYS = ["AccessKeyID", "SecretAccessKey", "SessionToken", "accessKeyID", "__proto__"] as const;
/** The API server accepts at most 1 MiB of values in a Secret. */
const MAX_VALUE = 1024 * 1024;
/** The values of a Secret are base64. Many hostile values are rejected earlier than the content of valid base64. */
const secretValue = fc.record({ value: hostile, isEncoded: fc.boolean() });
const PATHS = [
  "AWSClusterRoleIdentity/hostile", "AWSClusterStaticIdentity/static", "AWSClusterRoleIdentity/over-static",
].map((path) => `${path}?namespace=team-a`);

interface Expanded {
  /** A path with a hostile kind, name and namespace. */
  readonly path: string;
  readonly role: JsonObject;
  readonly static: JsonObject;
  /** The response of the API server to a read of the Secret. */
  readonly secret: Buffer;
}

/** Adds hostile identities to the inventory of a sidecar, and hostile content to the Secret of a static identity. */
export const IDENTITIES: Target = target("identities", {
  input: fc.record({
    spec: fc.array(fc.record({ field: fc.constantFrom(...FIELDS), value: hostile }), { maxLength: 3 }),
    secretRef: fc.option(hostile),
    path: fc.record({ kind: text, name: text, namespace: text }),
    /** The key `data` of the Secret is hostile itself if it is not null. */
    data: fc.option(hostile, { freq: 4 }),
    values: fc.array(fc.record({ key: fc.constantFrom(...KEYS), content: secretValue }), { maxLength: 4 }),
  }),
  expand({ spec, secretRef, path, data, values }): Expanded {
    const fields = parsed(spec.map((one) => [one.field, one.value]));
    const valid = { roleARN: "arn:aws:iam::111111111111:role/hostile", allowedNamespaces: {} };
    const entries = values.map(({ key, content }) => `${JSON.stringify(key)}:${valueOf(content)}`);
    const content = data === null ? `{${entries.join(",")}}` : toJSON(data);
    const { kind, name, namespace } = path;
    return {
      path: `${encoded(kind)}/${encoded(name)}?namespace=${encoded(namespace)}`,
      role: identityObject("AWSClusterRoleIdentity", "hostile", { ...valid, ...fields }),
      static: staticIdentity("static", {}, secretRef === null ? "creds" : JSON.parse(toJSON(secretRef))),
      secret: Buffer.from(`{"metadata":{"name":"creds","resourceVersion":"1"},"data":${content}}`),
    };
  },
  async run({ path: unknown, role, static: source, secret }) {
    const objects = [namespaceObject("team-a"), role, source, roleIdentity("over-static", "static/static")];
    const subject = new SidecarUnderTest({ groups: [INFRASTRUCTURE], objects, secrets: { creds: {} } });
    subject.secretServer.content = secret;
    subject.secrets?.start();
    await subject.clock.advance(0);
    for (const path of [...PATHS, unknown]) {
      const url = `/v1/credentials/identities/${path}`.slice(0, HEADER_BYTES).replace(/%.?$/, "");
      const { statusCode, body } = await subject.get(url);
      check({ status: statusCode, body }, subject);
    }
    await subject.secrets?.stop();
  },
});

function valueOf({ value, isEncoded }: { readonly value: Hostile; readonly isEncoded: boolean }): string {
  const json = toJSON(value);
  return isEncoded ? JSON.stringify(Buffer.from(json.slice(0, MAX_VALUE)).toString("base64")) : json;
}
