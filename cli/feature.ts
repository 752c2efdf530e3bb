import type { Command as Commander } from "commander";
import type { CheckInput } from "../shared/core/check.ts";
import type { DecisionSettings } from "../shared/core/context.ts";
import type { Inventory } from "../shared/core/inventory.ts";
import type { SkippedCheck } from "../shared/core/run.ts";
import type { Command } from "../shared/core/setting-definition.ts";
import type { SettingName, SettingsFor } from "../shared/core/settings.ts";
import type { Impact } from "../shared/diagnosis/impact.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import type { PageServer } from "../shared/server/page-server.ts";
import type { ManifestSource } from "../shared/sources/file-source.ts";
import type { CommandContext } from "./command-context.ts";
import type { FlagHelp } from "./help-rows.ts";
import type { State } from "./input/state.ts";
import type { IO } from "./io.ts";
import type { ResolvedResource } from "./output/resolution-table.ts";

/** A part of the program without which the others work: its folders and its line in features.ts can be deleted. */
export interface Feature {
  /** Adds each of its commands to the program. What a command needs is imported when the command runs. */
  readonly commands?: Partial<Readonly<Record<Command, (program: Commander, context: CommandContext) => void>>>;
  /** The examples in the help of its commands. */
  readonly examples?: Partial<Readonly<Record<Command, readonly string[]>>>;
  /** The help of its flags, also of those that it adds to other commands. */
  readonly help?: Partial<Readonly<Record<SettingName, FlagHelp>>>;
  readonly roleReviewer?: RoleReviewer;
  /** Returns the page that `impact` writes, or null if the settings ask for none. */
  readonly impactPage?: (settings: SettingsFor<"impact">) => Promise<ImpactPage | null>;
  readonly localServer?: LocalServer;
  /** Returns the checks that are skipped, because what they read could not be read. */
  readonly unread?: (state: State) => readonly SkippedCheck[];
  /** Returns the example of `local`, unless controllers take their roles from elsewhere. */
  readonly examplePath?: (inventory: Inventory, settings: SettingsFor<"local">) => ExamplePath | null;
  /** Returns the example of `local` if the manifests contain no other one: a path of an object that has a role. */
  readonly examplePathOf?: (
    resolved: readonly ResolvedResource[], inventory: Inventory, settings: DecisionSettings,
  ) => string | null;
  /** Returns the API groups, besides those of ACK, whose controllers `local` serves. */
  readonly servedGroups?: (inventory: Inventory) => readonly string[];
}

/** A path of the sidecar, relative to /v1/credentials. */
export interface ExamplePath {
  /** Null if the manifests contain no example. */
  readonly path: string | null;
  readonly pattern: string;
}

/** The settings of a command that judges objects. */
export type ReviewSettings = SettingsFor<"lint"> | SettingsFor<"audit"> | SettingsFor<"impact">;

/** Judges the roles that the objects of `lint`, `audit` and `impact` name. */
export interface RoleReviewer {
  /** Whether the settings ask for it. The Deployments of the controllers are then read too. */
  readonly isAsked: (settings: ReviewSettings) => boolean;
  readonly review: (
    states: readonly State[], settings: ReviewSettings, io: IO, nowMs: number,
  ) => Promise<RoleReview>;
}

/** What checks read besides the objects. */
export type Evidence = Partial<CheckInput>;

export interface RoleReview {
  /** What the checks of each state read. */
  readonly evidence: readonly Evidence[];
  /** Judges the roles that a change of a state sets; null without evidence. */
  readonly judgeChange: (
    change: InventoryChange, evidence: Evidence, settings: DecisionSettings,
  ) => NewRoles | null;
  /** Returns the judged roles that callers cannot assume, or perhaps not. Each is followed by its problems. */
  readonly openRoles: () => readonly (readonly string[])[];
}

export interface InventoryChange {
  readonly before: Inventory;
  readonly after: Inventory;
  readonly impacts: readonly Impact[];
}

/** Whether the role that a resource gets can be assumed, and why not, or what is missing. */
export interface Assumable {
  readonly verdict: "yes" | "no" | "unknown";
  readonly reasons: readonly string[];
}

/** Whether callers can assume the roles that a change sets. */
export interface NewRoles {
  readonly verdicts: ReadonlySet<Assumable["verdict"]>;
  /** Returns whether callers can assume the role that a resource gets; null if it gets none that an object names. */
  readonly of: (impact: Pick<Impact, "resource" | "after">) => Assumable | null;
  /** Returns the answers in the format of `-o json`. */
  readonly answers: () => readonly object[];
  /** Returns the answers as text. */
  readonly lines: (io: IO) => readonly string[];
}

/** The state after a change. */
export interface StateAfter {
  readonly objects: readonly JsonObject[];
  readonly inventory: Inventory;
  readonly impacts: readonly Impact[];
}

/** A page that `impact` writes in addition to its report. */
export interface ImpactPage {
  readonly title: string;
  readonly file: string;
  /** Adds a root to the page. */
  readonly add: (before: State, after: StateAfter, io: IO) => void;
  readonly write: (io: IO) => Promise<void>;
}

/** A server of `local` that shows the manifests. */
export interface LocalServer {
  readonly name: string;
  readonly purpose: string;
  readonly start: (
    listen: string, source: Pick<ManifestSource, "manifests" | "inventory" | "status" | "onChange">,
    settings: SettingsFor<"local">,
  ) => Promise<PageServer>;
}
