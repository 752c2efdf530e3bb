import { describeIdentity } from "../../shared/core/capa-kinds.ts";
import { createHmac, randomBytes } from "node:crypto";
import { ResolverError } from "../../shared/formats/errors.ts";
import type { StaticIdentity } from "../../shared/capa/identity.ts";
import {
  type AccessKey, readAccessKey, readSecretVersion, type SecretVersion,
} from "../../shared/capa/identity-secret.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { BodyTooLarge, type ClusterPorts } from "../../shared/api/api.ts";
import { fixedKinds } from "../../shared/sources/cluster-kinds.ts";
import { Reflector, type ReflectorHandler } from "../../shared/api/reflector.ts";
import { type ObjectResponse, rejectionText, sendRequest } from "../../shared/api/send-request.ts";
import type { ObjectName, StoredObject } from "../../shared/api/watched-kind.ts";
import type { SourceStatus } from "../../shared/sources/source.ts";
import { DeniedCallerError } from "../sts-upstream/errors.ts";

/** The access key of a static identity. */
export interface StaticKey extends AccessKey {
  /** A keyed digest of the access key. Without the key of the digest, which is random, it reveals nothing. */
  readonly digest: string;
}

interface IdentitySecretsOptions extends ClusterPorts {
  /** --identity-secret-namespace. */
  readonly namespace: string;
  /** Called after each read of a Secret. */
  readonly onRead: (result: "ok" | "invalid" | "failed") => void;
  /** Called when the account of the current access key becomes known, and after each read that finds the same key. */
  readonly onAccount: (name: string, accountID: string, version: SecretVersion) => void;
  /** Called after each change of the status. */
  readonly onStatus: (status: SourceStatus) => void;
}

/** A Secret that was read. `key` is null if its content is not valid. */
interface ReadSecret extends SecretVersion {
  readonly resourceVersion: string;
  readonly key: StaticKey | null;
  readonly fault: string | null;
}

const MAX_BYTES = LIMITS.identitySecretBytes.value;
const TOO_LARGE = `the Secret has more than ${MAX_BYTES} bytes`;
const MISSING = "the Secret does not exist";
/** The time limit of one read, in ms. A response of the sidecar takes at most 850 ms. */
const READ_MS = 800;

/**
 * Provides the access keys in the Secrets of one namespace. Watches only the metadata of the Secrets, and reads the
 * content of a Secret when an identity needs it. Reads a Secret that was read again as soon as it changes.
 */
export class IdentitySecrets implements ReflectorHandler {
  readonly #options: IdentitySecretsOptions;
  readonly #reflectors: readonly Reflector[];
  readonly #digestKey = randomBytes(32);
  /** Maps the name of each Secret to its resource version. Null until the Secrets are listed. */
  #versions: Map<string, string> | null = null;
  readonly #read = new Map<string, ReadSecret>();
  readonly #reading = new Map<string, Promise<ReadSecret | null>>();
  /** The last access key of each Secret whose account is known. */
  readonly #accounts = new Map<string, { readonly digest: string; readonly accountID: string }>();
  #fault: string | null = null;
  #lastSyncMs: number | null = null;

  constructor(options: IdentitySecretsOptions) {
    this.#options = options;
    const kinds = fixedKinds("secrets", options.namespace);
    this.#reflectors = kinds.map((kind) => new Reflector({ ...options, kind, handler: this }));
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
    this.#read.clear();
  }

  /**
   * The status of the list of Secrets. A stale list is still used, as a stale inventory is. A list that is not loaded
   * is never treated as empty.
   */
  get status(): SourceStatus {
    return { loaded: this.#versions !== null, lastSyncMs: this.#lastSyncMs, fault: this.#fault };
  }

  onObjects(put: readonly StoredObject[], removed: readonly ObjectName[]): void {
    this.#versions ??= new Map();
    for (const { name, resourceVersion } of put) {
      this.#versions.set(name, resourceVersion);
      const known = this.#read.get(name);
      if (known !== undefined && known.resourceVersion !== resourceVersion) void this.#readChanged(name);
    }
    for (const { name } of removed) {
      this.#versions.delete(name);
      this.#read.delete(name);
      this.#accounts.delete(name);
    }
  }

  onSync(): void {
    this.#lastSyncMs = this.#options.clock.steady();
  }

  onFault(fault: Error | null): void {
    this.#fault = fault?.message ?? null;
    this.#options.onStatus(this.status);
  }

  /** Returns the current access key of the identity. Rejects with ERR_IDENTITY_SECRET, or if no key is available. */
  async get(identity: StaticIdentity): Promise<StaticKey> {
    const name = identity.secretName ?? "";
    const version = this.#versionOf(name, identity);
    const known = this.#read.get(name);
    const read = known?.resourceVersion === version ? known : await this.#load(name);
    if (read === null) throw this.#invalid(identity, MISSING);
    if (read.key !== null) return read.key;
    throw this.#invalid(identity, read.fault ?? "");
  }

  /** Whether the access key is the current access key of the identity. */
  isCurrent(identity: StaticIdentity, { digest }: StaticKey): boolean {
    const name = identity.secretName ?? "";
    const known = this.#read.get(name);
    return known?.key?.digest === digest && this.#versions?.get(name) === known.resourceVersion;
  }

  /** Receives the account that STS returned for the access key. */
  learn({ secretName }: StaticIdentity, { digest }: StaticKey, accountID: string): void {
    const name = secretName ?? "";
    this.#accounts.set(name, { digest, accountID });
    this.#reportAccount(name);
  }

  #reportAccount(name: string): void {
    const [known, read] = [this.#accounts.get(name), this.#read.get(name)];
    if (known === undefined || read?.key?.digest !== known.digest) return;
    this.#options.onAccount(name, known.accountID, read);
  }

  #versionOf(name: string, identity: StaticIdentity): string {
    const { namespace } = this.#options;
    if (this.#versions === null) {
      const cause = this.#fault === null ? "" : `: ${this.#fault}`;
      const message = `The Secrets in the namespace ${namespace} are not listed yet${cause}. Retry in a moment.`;
      throw new ResolverError("ERR_NOT_READY", message);
    }
    const version = this.#versions.get(name);
    if (version === undefined) throw this.#invalid(identity, MISSING);
    return version;
  }

  /**
   * Reads a changed Secret in the background, so that `isCurrent` knows the new access key. A read that is in flight
   * can return the old content.
   */
  async #readChanged(name: string): Promise<void> {
    try {
      await this.#reading.get(name);
      await this.#load(name);
    } catch {
      // The next request reads the Secret again, and reports the error.
    }
  }

  /** Reads the Secret; returns null if it does not exist. All concurrent requests for a Secret share one read. */
  #load(name: string): Promise<ReadSecret | null> {
    const running = this.#reading.get(name);
    if (running !== undefined) return running;
    const reading = this.#readSecret(name).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #readSecret(name: string): Promise<ReadSecret | null> {
    const { namespace } = this.#options;
    const request = { path: `/api/v1/namespaces/${namespace}/secrets/${name}` };
    const listed = { uid: null, resourceVersion: this.#versions?.get(name) ?? "" };
    const response = await this.#request(request, name);
    if (response === null) return this.#store(name, { ...listed, key: null, fault: TOO_LARGE });
    const { status, object } = response;
    if (status === 404) return null;
    const { uid, resourceVersion } = readSecretVersion(object ?? {});
    if (status !== 200 || object === null || resourceVersion === null) {
      throw this.#unreadable(name, rejectionText(request, response));
    }
    const { key, fault } = readAccessKey(object);
    return this.#store(name, { uid, resourceVersion, fault, key: key === null ? null : this.#keyOf(name, key) });
  }

  #store(name: string, read: ReadSecret): ReadSecret {
    this.#options.onRead(read.key === null ? "invalid" : "ok");
    if (this.#versions?.has(name) === true) {
      this.#read.set(name, read);
      this.#reportAccount(name);
    }
    return read;
  }

  /** Returns the response of the API server; null if the Secret is too large. */
  async #request(request: { readonly path: string }, name: string): Promise<ObjectResponse | null> {
    const { api, clock } = this.#options;
    try {
      return await sendRequest({ api, clock }, request, { timeoutMs: READ_MS, maxBytes: MAX_BYTES });
    } catch (error) {
      if (error instanceof BodyTooLarge) return null;
      throw this.#unreadable(name, `the API server did not respond within ${READ_MS} ms`);
    }
  }

  /** Adds the digest of the access key. Returns the known key of the Secret if the content has not changed. */
  #keyOf(name: string, key: AccessKey): StaticKey {
    const text = JSON.stringify([key.accessKeyID, key.secretAccessKey, key.sessionToken]);
    const digest = createHmac("sha256", this.#digestKey).update(text).digest("base64url");
    const known = this.#read.get(name)?.key;
    return known?.digest === digest ? known : { ...key, digest };
  }

  #invalid(identity: StaticIdentity, fault: string): ResolverError {
    const secret = `${this.#options.namespace}/${identity.secretName ?? ""}`;
    const message = `${describeIdentity(identity)} has no access key in the Secret ${secret}: ${fault}. `
      + "Write the keys AccessKeyID and SecretAccessKey (and SessionToken for a session) to the Secret.";
    return new DeniedCallerError("ERR_IDENTITY_SECRET", message);
  }

  #unreadable(name: string, reason: string): ResolverError {
    this.#options.onRead("failed");
    const message = `The Secret ${this.#options.namespace}/${name} could not be read: ${reason}. Retry the request.`;
    return new ResolverError("ERR_CLUSTER_UNREADABLE", message);
  }
}
