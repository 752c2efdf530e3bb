import { readFile, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import { accessDenied, type Faults, THROTTLED } from "../../../cli/local/sts-emulator/faults.ts";
import type { SidecarSettings } from "../../../../sidecar/options.ts";
import { until } from "../../apiserver/until.ts";
import { readEnvironment } from "../../../programs/environment.ts";
import { clientVariables, type ErrorResponse, type Variables } from "../client.ts";
import { type RecordedRequest, startTestbed, type Testbed } from "../testbed.ts";
import { allSDKs, fails, type Outcomes, succeeds } from "./outcome.ts";

/** The server and the variables of a client in one case. */
export interface Scene {
  readonly variables: Variables;
  /** The client's requests, with the status of the response if known. */
  readonly requests: readonly Pick<RecordedRequest, "status">[];
  /** Returns the sidecar's error for this client, in cases with an error. */
  fetchError?(): Promise<ErrorResponse>;
  /** The log and the token of the sidecar, in cases with a sidecar. */
  log?(): { readonly text: string; readonly token: string };
  /** Returns the number of AssumeRole calls, in cases with a sidecar. */
  assumeRoleCalls?(): number;
}

export interface Case {
  readonly name: string;
  /** The number of retrievals in one process; the default is 1. */
  readonly retrievals?: number;
  readonly expected: Outcomes;
  /** The maximum number of AssumeRole calls. */
  readonly maxAssumeRoleCalls?: number;
  /** Whether no other case may run concurrently, because the time limit of an SDK determines the result. */
  readonly alone?: true;
  readonly setUp: (t: Test) => Promise<Scene>;
}

interface SidecarCase {
  readonly path?: string;
  readonly settings?: Partial<SidecarSettings>;
  readonly faults?: Faults;
  readonly host?: string;
  /** The variables of a client that sends a wrong token, or that does not read the token from the token file. */
  readonly authorize?: (testbed: Testbed, token: string) => Promise<Variables>;
}

const TEAM_A = "/v1/credentials/selectors/team-a";
const BUCKET = "kind=Bucket.v1alpha1.s3.services.k8s.aws";
const ROTATION_LIMIT_MS = 5_000;

function sidecar(options: SidecarCase): Case["setUp"] {
  const { path = TEAM_A, settings = {}, faults = () => null, host, authorize = fromFile } = options;
  return async (t) => {
    const testbed = await startTestbed(t, settings, { sts: { faults } });
    const token = await readFile(testbed.tokenFile, "utf8");
    const origin = host === undefined ? testbed.endpoint : `http://${host}:${new URL(testbed.endpoint).port}`;
    const variables = await authorize(testbed, token);
    return {
      variables: { ...clientVariables(testbed), AWS_CONTAINER_CREDENTIALS_FULL_URI: origin + path, ...variables },
      requests: testbed.requests,
      fetchError: async () => testbed.fetchError(path, authorize === fromFile ? token : "wrong"),
      log: () => ({ text: testbed.logLines.join(""), token }),
      assumeRoleCalls: () => testbed.sts.calls.filter(({ action }) => action === "AssumeRole").length,
    };
  };
}

async function fromFile({ tokenFile }: Testbed): Promise<Variables> {
  return { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile };
}

async function wrongToken(): Promise<Variables> {
  return { AWS_CONTAINER_AUTHORIZATION_TOKEN: "wrong" };
}

const ROTATED_TOKEN = "rotated-token-0123456789abcdef";

/** Writes another token to the file and waits until the sidecar accepts it. */
async function rotateToken(testbed: Testbed): Promise<void> {
  await writeFile(testbed.tokenFile, ROTATED_TOKEN);
  const missing = "/v1/credentials/selectors/missing";
  await until(async () => (await testbed.fetchError(missing, ROTATED_TOKEN)).status === 404, ROTATION_LIMIT_MS);
}

async function otherFile({ home }: Testbed, content: string): Promise<string> {
  const file = join(home, "other-token");
  await writeFile(file, content);
  return file;
}

function delayAssumeRole(ms: number): Faults {
  return async ({ action }) => {
    if (action === "AssumeRole") await delay(ms, undefined, { ref: false });
    return null;
  };
}

const ADDRESSES = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
/** Skips this case if the machine has no IPv6, as in some containers. CI must have IPv6. */
const HAS_IPV6 = readEnvironment().ci || ADDRESSES.includes("::1");

const REJECTION: Outcomes = { go: fails(1), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) };
const UNAVAILABLE: Outcomes = {
  go: fails(3), botocore: fails(3), javascript: fails(5), java: fails(6), rust: fails(3),
};

/** The responses of the sidecar for each behavior of STS, with the result of each SDK. */
export const SIDECAR_CASES: readonly Case[] = [
  { name: "the session of a role", expected: allSDKs(succeeds(1)), maxAssumeRoleCalls: 1, setUp: sidecar({}) },
  {
    name: "five retrievals in one process", retrievals: 5, expected: allSDKs(succeeds(1)), maxAssumeRoleCalls: 1,
    setUp: sidecar({}),
  },
  {
    name: "five retrievals of a session that is valid for 15 minutes", retrievals: 5, maxAssumeRoleCalls: 1,
    setUp: sidecar({ path: "/v1/credentials/selectors/short" }),
    // botocore and the SDK for Java refresh 15 minutes before the expiration, so each retrieval sends a request to the
    // sidecar, which does not call STS again.
    expected: { ...allSDKs(succeeds(1)), botocore: succeeds([5, 6]), java: succeeds([1, 5]) },
  },
  {
    name: "the base identity", expected: allSDKs(succeeds(1)), maxAssumeRoleCalls: 0,
    setUp: sidecar({ path: "/v1/credentials" }),
  },
  { name: "the host localhost", expected: allSDKs(succeeds(1)), setUp: sidecar({ host: "localhost" }) },
  {
    name: "the host [::1]", expected: HAS_IPV6 ? allSDKs(succeeds(1)) : {},
    setUp: sidecar({ settings: { listen: "[::1]:0" } }),
  },
  {
    name: "400: an unsupported query parameter", expected: REJECTION, maxAssumeRoleCalls: 0,
    setUp: sidecar({ path: `${TEAM_A}?role=mine` }),
  },
  { name: "401: a wrong token", expected: REJECTION, maxAssumeRoleCalls: 0, setUp: sidecar({ authorize: wrongToken }) },
  {
    name: "403: the scope of the sidecar does not grant the role", expected: REJECTION, maxAssumeRoleCalls: 0,
    setUp: sidecar({ path: `/v1/credentials/namespaces/team-b?${BUCKET}`, settings: { scopeNamespace: "team-a" } }),
  },
  {
    name: "404: an unknown selector", expected: REJECTION, maxAssumeRoleCalls: 0,
    setUp: sidecar({ path: "/v1/credentials/selectors/missing" }),
  },
  {
    name: "409: the role depends on labels that are not in the query", expected: REJECTION, maxAssumeRoleCalls: 0,
    setUp: sidecar({ path: `/v1/credentials/namespaces/team-b?${BUCKET}` }),
  },
  {
    name: "503: STS throttles", expected: UNAVAILABLE,
    setUp: sidecar({ faults: ({ action }) => (action === "AssumeRole" ? THROTTLED : null) }),
  },
  {
    name: "503: STS denies the role", expected: UNAVAILABLE, maxAssumeRoleCalls: 1,
    setUp: sidecar({ faults: ({ action, roleARN }) => (action === "AssumeRole" ? accessDenied(roleARN ?? "") : null) }),
  },
  {
    name: "503: STS hangs", maxAssumeRoleCalls: 3,
    // The message depends on which limit is reached first: the limit of the response or the limit of the STS call.
    expected: {
      ...UNAVAILABLE, go: fails(3, /ERR_STS_UNAVAILABLE: STS did not respond/), java: fails(6, /STS did not respond/),
    },
    setUp: sidecar({ faults: ({ action }) => (action === "AssumeRole" ? { do: "hang" } : null) }),
  },
  {
    name: "an uncached session: STS responds after 700 ms", expected: allSDKs(succeeds(1)), maxAssumeRoleCalls: 1,
    alone: true, setUp: sidecar({ faults: delayAssumeRole(700) }),
  },
  {
    name: "an uncached session: STS responds after 2 s", maxAssumeRoleCalls: 1, alone: true,
    setUp: sidecar({ faults: delayAssumeRole(2_000) }),
    expected: {
      go: succeeds([2, 3]), botocore: succeeds([2, 3]), javascript: succeeds([2, 5]), java: succeeds([3, 4]),
      rust: succeeds([2, 3]),
    },
  },
  {
    name: "a wrong token in the environment and the correct token in the file",
    expected: { ...allSDKs(succeeds(1)), java: fails(1) },
    setUp: sidecar({ authorize: async (testbed) => ({ ...(await wrongToken()), ...(await fromFile(testbed)) }) }),
  },
  {
    // The SDK for JavaScript then tries its legacy provider, which ignores the token file.
    name: "the correct token in the environment and a wrong token in the file",
    expected: { go: fails(1), botocore: fails(3), javascript: succeeds(5), java: succeeds(1), rust: fails(1) },
    setUp: sidecar({
      authorize: async (testbed, token) => ({
        AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: await otherFile(testbed, "wrong"),
      }),
    }),
  },
  {
    name: "a token file that ends in a newline",
    expected: {
      go: fails(0, /token contains invalid newline/), botocore: fails(0, /ValueError/), javascript: fails([0, 1]),
      java: fails(0, /Illegal character/), rust: fails(0, /auth token could not be used as an HTTP header value/),
    },
    setUp: sidecar({
      authorize: async (testbed, token) => ({
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: await otherFile(testbed, `${token}\n`),
      }),
    }),
  },
  {
    name: "a token file whose token was rotated", expected: allSDKs(succeeds([1, 2])),
    setUp: sidecar({ authorize: async (testbed) => rotateToken(testbed).then(() => fromFile(testbed)) }),
  },
  {
    name: "the previous token after a rotation", expected: allSDKs(succeeds([1, 2])),
    setUp: sidecar({
      authorize: async (testbed, token) => {
        await rotateToken(testbed);
        return { AWS_CONTAINER_AUTHORIZATION_TOKEN: token };
      },
    }),
  },
];
