import { readFile, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import type { STSEmulatorOptions } from "../../../cli/local/sts-emulator/emulator.ts";
import { accessDenied, THROTTLED } from "../../../cli/local/sts-emulator/faults.ts";
import type { SidecarSettings } from "../../../sidecar/options.ts";
import { until } from "../apiserver/until.ts";
import { readEnvironment } from "../environment.ts";
import { clientVariables, type Refusal, type Variables } from "./client.ts";
import { type Company, type RecordedRequest, startCompany } from "./company.ts";
import { everybody, fails, type Outcomes, succeeds } from "./outcome.ts";

/** What answers a client in one case. */
export interface Scene {
  readonly variables: Variables;
  /** The client's requests, and what they were answered with where that is known. */
  readonly requests: readonly Pick<RecordedRequest, "status">[];
  /** How the sidecar refuses this client; only where it does. */
  refusal?(): Promise<Refusal>;
  /** What the sidecar has logged, and its token; only behind one. */
  log?(): { readonly text: string; readonly token: string };
  /** How often STS has been asked for the role; only behind a sidecar. */
  assumed?(): number;
}

export interface Case {
  readonly name: string;
  /** How often the client retrieves, in one process; once where it is not said. */
  readonly retrievals?: number;
  readonly expected: Outcomes;
  /** The most that the whole of it costs in calls of AssumeRole. */
  readonly assumed?: number;
  /** An SDK's own time limit decides, so that nothing may run beside it. */
  readonly alone?: true;
  readonly set: (t: Test) => Promise<Scene>;
}

interface SidecarCase {
  readonly path?: string;
  readonly settings?: Partial<SidecarSettings>;
  readonly faults?: STSEmulatorOptions["faults"];
  readonly host?: string;
  /** The token, presented in another way than right and from its file. */
  readonly present?: (company: Company, token: string) => Promise<Variables>;
}

const TEAM_A = "/v1/credentials/selectors/team-a";
const BUCKET = "kind=Bucket.v1alpha1.s3.services.k8s.aws";
const ROTATION_LIMIT_MS = 5_000;

function sidecar({ path = TEAM_A, settings = {}, faults = () => null, host, present = fromFile }: SidecarCase): Case["set"] {
  return async (t) => {
    const company = await startCompany(t, settings, { sts: { faults } });
    const token = await readFile(company.tokenFile, "utf8");
    const origin = host === undefined ? company.endpoint : `http://${host}:${new URL(company.endpoint).port}`;
    const presented = await present(company, token);
    return {
      variables: { ...clientVariables(company), AWS_CONTAINER_CREDENTIALS_FULL_URI: origin + path, ...presented },
      requests: company.requests,
      refusal: async () => company.refusal(path, present === fromFile ? token : "wrong"),
      log: () => ({ text: company.logLines.join(""), token }),
      assumed: () => company.sts.calls.filter(({ action }) => action === "AssumeRole").length,
    };
  };
}

async function fromFile({ tokenFile }: Company): Promise<Variables> {
  return { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile };
}

async function wrongToken(): Promise<Variables> {
  return { AWS_CONTAINER_AUTHORIZATION_TOKEN: "wrong" };
}

/** Another token in the file, and the sidecar aware of it. */
async function rotate(company: Company): Promise<void> {
  await writeFile(company.tokenFile, "rotated");
  await until(async () => (await company.refusal("/v1/credentials/selectors/missing", "rotated")).status === 404, ROTATION_LIMIT_MS);
}

async function otherFile({ home }: Company, content: string): Promise<string> {
  const file = join(home, "other-token");
  await writeFile(file, content);
  return file;
}

function assumeRoleTakes(ms: number): NonNullable<STSEmulatorOptions["faults"]> {
  return async ({ action }) => {
    if (action === "AssumeRole") await delay(ms, undefined, { ref: false });
    return null;
  };
}

/** A container may lack it; CI may not. */
const HAS_IPV6 = readEnvironment().ci || Object.values(networkInterfaces()).some((addresses = []) => addresses.some(({ address }) => address === "::1"));

const ONE_REFUSAL: Outcomes = { go: fails(1), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) };
const TROUBLE: Outcomes = { go: fails(3), botocore: fails(3), javascript: fails(5), java: fails(6), rust: fails(3) };

/** What the sidecar answers, whatever STS does, and what each SDK makes of it. */
export const SIDECAR_CASES: readonly Case[] = [
  { name: "a role's session", expected: everybody(succeeds(1)), assumed: 1, set: sidecar({}) },
  { name: "five retrievals in one process", retrievals: 5, expected: everybody(succeeds(1)), assumed: 1, set: sidecar({}) },
  {
    name: "five retrievals of a session of 15 minutes", retrievals: 5, assumed: 1, set: sidecar({ path: "/v1/credentials/selectors/short" }),
    // Botocore and Java renew from 15 minutes before the end on, and so for each of them; it costs no call of STS.
    expected: { ...everybody(succeeds(1)), botocore: succeeds([5, 6]), java: succeeds([1, 5]) },
  },
  { name: "the base identity", expected: everybody(succeeds(1)), assumed: 0, set: sidecar({ path: "/v1/credentials" }) },
  { name: "the host localhost", expected: everybody(succeeds(1)), set: sidecar({ host: "localhost" }) },
  { name: "the host [::1]", expected: HAS_IPV6 ? everybody(succeeds(1)) : {}, set: sidecar({ settings: { listen: "[::1]:0" } }) },
  { name: "400: a query that the path does not take", expected: ONE_REFUSAL, assumed: 0, set: sidecar({ path: `${TEAM_A}?role=mine` }) },
  { name: "401: a wrong token", expected: ONE_REFUSAL, assumed: 0, set: sidecar({ present: wrongToken }) },
  {
    name: "403: not granted in this scope", expected: ONE_REFUSAL, assumed: 0,
    set: sidecar({ path: `/v1/credentials/namespaces/team-b?${BUCKET}`, settings: { scopeNamespace: "team-a" } }),
  },
  { name: "404: an unknown selector", expected: ONE_REFUSAL, assumed: 0, set: sidecar({ path: "/v1/credentials/selectors/missing" }) },
  { name: "409: labels that were not told decide", expected: ONE_REFUSAL, assumed: 0, set: sidecar({ path: `/v1/credentials/namespaces/team-b?${BUCKET}` }) },
  { name: "503: STS throttles", expected: TROUBLE, set: sidecar({ faults: ({ action }) => (action === "AssumeRole" ? THROTTLED : null) }) },
  {
    name: "503: STS refuses the role", expected: TROUBLE, assumed: 1,
    set: sidecar({ faults: ({ action, roleARN }) => (action === "AssumeRole" ? accessDenied(roleARN ?? "") : null) }),
  },
  {
    name: "503: STS hangs", assumed: 3,
    // The words are those of the limit that was met first: the answer's, or STS's.
    expected: { ...TROUBLE, go: fails(3, /ERR_STS_UNAVAILABLE: STS did not respond/), java: fails(6, /STS did not respond/) },
    set: sidecar({ faults: ({ action }) => (action === "AssumeRole" ? { do: "hang" } : null) }),
  },
  { name: "a cold STS that takes 700 ms", expected: everybody(succeeds(1)), assumed: 1, alone: true, set: sidecar({ faults: assumeRoleTakes(700) }) },
  {
    name: "a cold STS that takes 2 s", assumed: 1, alone: true, set: sidecar({ faults: assumeRoleTakes(2_000) }),
    expected: { go: succeeds([2, 3]), botocore: succeeds([2, 3]), javascript: succeeds([2, 5]), java: succeeds([3, 4]), rust: succeeds([2, 3]) },
  },
  {
    name: "a wrong token in the environment, the right one in the file",
    expected: { ...everybody(succeeds(1)), java: fails(1) },
    set: sidecar({ present: async (company) => ({ ...(await wrongToken()), ...(await fromFile(company)) }) }),
  },
  {
    // JavaScript's older provider, which it falls back on, knows of no file.
    name: "the right token in the environment, a wrong one in the file",
    expected: { go: fails(1), botocore: fails(3), javascript: succeeds(5), java: succeeds(1), rust: fails(1) },
    set: sidecar({
      present: async (company, token) => ({
        AWS_CONTAINER_AUTHORIZATION_TOKEN: token, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: await otherFile(company, "wrong"),
      }),
    }),
  },
  {
    name: "a token file with a newline, which the sidecar never makes",
    expected: {
      go: fails(0, /token contains invalid newline/), botocore: fails(0, /ValueError/), javascript: fails([0, 1]),
      java: fails(0, /Illegal character/), rust: fails(0, /auth token could not be used as an HTTP header value/),
    },
    set: sidecar({ present: async (company, token) => ({ AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: await otherFile(company, `${token}\n`) }) }),
  },
  {
    name: "a token that was rotated in its file", expected: everybody(succeeds([1, 2])),
    set: sidecar({ present: async (company) => rotate(company).then(() => fromFile(company)) }),
  },
  {
    name: "the token before the rotation", expected: everybody(succeeds([1, 2])),
    set: sidecar({ present: async (company, token) => rotate(company).then(() => ({ AWS_CONTAINER_AUTHORIZATION_TOKEN: token })) }),
  },
];
