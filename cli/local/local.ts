import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeCertificates } from "../../certs/make.ts";
import { storeCertificates } from "../../certs/certificate-files.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { PROFILES } from "../../shared/core/profiles.ts";
import { SETTINGS, type SettingsFor } from "../../shared/core/settings.ts";
import { ManifestSource } from "../../shared/sources/file-source.ts";
import { formatListenAddress, parseListenAddress, startListening } from "../../shared/server/listen-address.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { Drain } from "../../shared/server/stopping.ts";
import { runSidecar } from "../../sidecar/main.ts";
import { runWebhook } from "../../webhook/main.ts";
import { EXIT, type ExitStatus, type IO, writeLines, writeStartNotices } from "../io.ts";
import { tableFormat } from "../output/resolution-table.ts";
import { FEATURES } from "../features.ts";
import { serveUntilStopped, startSource } from "../serve.ts";
import { startSTSEmulator } from "./sts-emulator/emulator.ts";
import type { BaseCredentials } from "./sts-emulator/principals.ts";
import { type LocalAddresses, rolesLines, servedGroups, unservedGroupLines, welcomeLines } from "./welcome.ts";

type Settings = SettingsFor<"local">;

/** The account of the controllers' base identity if --controller-account is not set. */
const BASE_ACCOUNT = "999988887777";
/** The lifetime of the base identity, in ms. The lifetime is longer than any run of local mode. */
const BASE_LIFE_MS = 365 * 86_400_000;

/** Serves the webhook, the sidecar and an STS emulator on loopback until a signal ends the process. */
export async function runLocal(original: Settings, io: IO): Promise<ExitStatus> {
  const settings = { ...original, from: original.from.map(exampleFolder) };
  const source = new ManifestSource(settings.from, { runtime: settings.runtime, });
  writeStartNotices(settings, io);
  if (!(await startSource(source, io))) return EXIT.usage;
  const folder = await mkdtemp(join(tmpdir(), "ack-role-resolver-"));
  const closers: (() => Promise<void>)[] = [() => source.stop(), () => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => void (await Promise.all(closers.map((one) => one())));
  const log = createLogger({ name: "local", level: settings.logLevel });
  try {
    const groups = servedGroups(source);
    const addresses = await startAll(settings, { source, groups, folder, closers });
    const format = tableFormat("text", io);
    const roles = (): string[] => rolesLines(source, settings, format);
    // Handles signals before the output invites the user to press Ctrl-C.
    const stopped = serveUntilStopped({ log, drain: new Drain(), drainMs: 0, close });
    writeLines(io.stdout, [...roles(), ...welcomeLines(addresses, source, settings)]);
    source.onChange(() => writeLines(io.stdout, [...roles(), ...unservedGroupLines(source, groups)]));
    return await stopped;
  } catch (error) {
    await close();
    throw error;
  }
}

const [EXAMPLES] = SETTINGS.from.defaults.local;

/** Replaces the default folder by the examples of this package if the working directory has no such folder. */
function exampleFolder(path: string): string {
  const manifest = path === EXAMPLES && !existsSync(path) ? findPackageJSON(import.meta.url) : undefined;
  return manifest === undefined ? path : join(dirname(manifest), EXAMPLES);
}

interface Parts {
  readonly source: ManifestSource;
  readonly groups: readonly string[];
  readonly folder: string;
  /** Closes the servers that have started. */
  readonly closers: (() => Promise<void>)[];
}

async function startAll(settings: Settings, { source, groups, folder, closers }: Parts): Promise<LocalAddresses> {
  const base = localIdentity(settings);
  const addresses = localAddresses(settings.listen);
  const stsAddress = parseListenAddress(addresses.sts, "--listen");
  const sts = await startListening("--listen", stsAddress, () =>
    startSTSEmulator({ ...stsAddress, baseCredentials: [base] }));
  closers.push(() => sts.close());

  const certificates = await makeCertificates({ hosts: ["localhost", "127.0.0.1", "::1"], now: new Date() });
  const [caFile = ""] = await storeCertificates(folder, certificates);
  const webhookLog = createLogger({ name: "webhook", level: settings.logLevel });
  const webhook = await withLocalFlag(() =>
    runWebhook(webhookSettings(settings, addresses.webhook, folder), { source, log: webhookLog }));
  closers.push(() => webhook.close());

  const pages = await Promise.all(LOCAL_SERVERS.map(async (one, i) => (
    { ...one, server: await one.start(addresses.at(FIRST_PAGE + i), source, settings) }
  )));
  closers.push(...pages.map(({ server }) => () => server.close()));

  // The last server: it calls STS at once, and would log that the call failed if another server could not start.
  const tokenFile = settings.tokenFile ?? join(folder, "token");
  const sidecarLog = createLogger({ name: "sidecar", level: settings.logLevel });
  const ports = { source, environment: {}, log: sidecarLog, baseProvider: async () => base };
  const sidecar = await withLocalFlag(() =>
    runSidecar({ ...sidecarSettings(settings, groups, sts.url, tokenFile), ...addresses.sidecar }, ports));
  closers.push(() => sidecar.close());
  return { webhook, sidecar, sts, pages, tokenFile, caFile };
}

/** Returns a new base identity. Only the STS emulator accepts the access key of this identity. */
function localIdentity({ controllerAccount }: Settings): Required<BaseCredentials> {
  const arn = `arn:aws:sts::${controllerAccount ?? BASE_ACCOUNT}:assumed-role/ack-controller/local`;
  const expirationMs = Date.now() + BASE_LIFE_MS;
  const [accessKeyID, secretAccessKey, sessionToken] = [`ASIA${randomText(8)}`, randomText(20), randomText(64)];
  return { accessKeyID, secretAccessKey, sessionToken, expirationMs, arn };
}

function randomText(bytes: number): string {
  return randomBytes(bytes).toString("hex").toUpperCase();
}

type ServerAddresses = Pick<SettingsFor<"webhook">, "listen" | "healthListen">;

interface AllAddresses extends Readonly<Record<"webhook" | "sidecar", ServerAddresses>> {
  readonly sts: string;
  /** Returns the address of a server by its offset to the first port. */
  readonly at: (offset: number) => string;
}

const LOCAL_SERVERS = FEATURES.flatMap(({ localServer }) => localServer ?? []);
/** The offset of the first page to the first port. */
const FIRST_PAGE = 5;

/** Returns the addresses of the servers: those on the ports from `listen`, or free ports if its port is 0. */
function localAddresses(listen: string): AllAddresses {
  const { host, port } = parseListenAddress(listen, "--listen");
  const at = (offset: number): string => formatListenAddress({ host, port: port === 0 ? 0 : port + offset });
  return {
    sidecar: { listen: at(0), healthListen: at(1) }, sts: at(2), webhook: { listen: at(3), healthListen: at(4) },
    at,
  };
}

function webhookSettings(settings: Settings, addresses: ServerAddresses, tlsDir: string): SettingsFor<"webhook"> {
  const ofServer = { tlsDir, url: null, ui: null, ...addresses, extraGroups: [], identitySecretNamespace: null };
  const off = { ...NO_CLUSTER, ...NO_REFRESH, ...NO_INJECTION };
  return { ...settings, ...off, ...ANY_CLIENT, ...ofServer };
}

const ANY_CLIENT = { clientCaFile: null, clientName: null };
/** No API server calls the webhook, so it receives no Pods. */
const NO_INJECTION = {
  sidecarImage: null, sidecarArgs: [], sidecarEnv: [], sidecarCaConfigMap: null, sidecarRunAsUser: "none",
};
const NO_CLUSTER = { cluster: false, stateDir: null, kubeconfig: null, context: null };
const NO_REFRESH = { namespace: null, autoControllerIdentity: [], noCapa: false };

/** Returns the settings of the sidecar, which serves all controllers in local mode. */
function sidecarSettings(
  settings: Settings, group: readonly string[], stsEndpoint: string, tokenFile: string,
): Omit<SettingsFor<"sidecar">, keyof ServerAddresses> {
  return {
    ...settings, ...NO_CLUSTER, stsEndpoint, tokenFile, group: [...group], kind: [],
    scopeNamespace: null, identitySecretNamespace: null, allowedAudiences: [], sessionName: "ack-role-resolver",
    profileNamespace: null,
    defaultExternalId: null, defaultSourceIdentity: null, defaultSessionTags: [],
    unmatched: PROFILES.unmatched[settings.profile], base: PROFILES.base[settings.profile],
    // One sidecar for all controllers: what they need together is longer than a session policy.
    sessionScope: "none",
  };
}

/** Runs `start`. In error messages of a server, names the flag of local mode instead of --health-listen. */
async function withLocalFlag<T>(start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof ResolverError)) throw error;
    const message = error.message.replaceAll("--health-listen", "--listen");
    throw new ResolverError(error.code, message, { cause: error });
  }
}
