import { Writable } from "node:stream";
import type { Finding } from "../shared/core/check.ts";
import { describeRepairs, type Repair } from "../shared/core/repair.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { STDIN } from "../shared/files/listing.ts";
import { errorMessage, ResolverError } from "../shared/formats/errors.ts";
import { countOf, printable } from "../shared/formats/text.ts";
import { whyUnwritable, writeFile } from "./input/replace-file.ts";
import type { State, StateObject } from "./input/state.ts";
import type { EditedFile, Texts } from "./input/texts.ts";
import { type IO, writeLines } from "./io.ts";
import { placeAndName } from "./output/located-finding.ts";
import { diffOf, RepairRenderer } from "./output/repairs.ts";

/** What one root of the input contains, and the findings about it. */
export interface JudgedRoot {
  readonly state: Pick<State, "objects" | "faults">;
  readonly results: readonly { readonly found: StateObject; readonly findings: readonly Finding[] }[];
}

type Judge<Root> = (io: IO) => Promise<readonly Root[]>;

type FixSettings = Pick<SettingsFor<"lint">, "fix" | "dryRun" | "from" | "cluster" | "output">;

/** The maximum number of times that the input is judged again. Each time, every object gets at most one repair. */
const MAX_ROUNDS = 100;

/**
 * Judges the input, with the current texts. With --fix, applies the repairs of which only one can be meant, judges
 * again until nothing changes, and then writes the files. Returns the result for the files after that.
 */
export async function judgeAndFix<Root extends JudgedRoot>(
  settings: FixSettings, io: IO, texts: Texts, judge: Judge<Root>,
): Promise<readonly Root[]> {
  if (!settings.fix) return await judge(io);
  if (settings.cluster || settings.from.includes(STDIN)) throw new ResolverError("ERR_CONFIG_INVALID", NOT_FILES);
  const fixing = new Fixing(settings.from, texts);
  for (let round = 0; ; round += 1) {
    const notes = new HeldStream();
    // Each round depends on the one before.
    // oxlint-disable-next-line no-await-in-loop
    const roots = await judge({ ...io, stderr: notes });
    if (round < MAX_ROUNDS && fixing.repair(roots)) continue;
    io.stderr.write(notes.text);
    fixing.finish(settings, io);
    return roots;
  }
}

const NOT_FILES = "--fix changes files, and neither standard input nor a cluster: pass the files or folders";

/** A stream that keeps what is written to it. */
class HeldStream extends Writable {
  text = "";
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

interface Candidate {
  readonly found: StateObject;
  readonly finding: Finding;
  readonly repair: Repair;
  readonly renderer: RepairRenderer;
}

/** What was tried in a round. */
interface Round {
  /** The denials before, each with its object. */
  readonly denied: ReadonlyMap<string, { readonly place: string; readonly code: string }>;
  /** The objects that were changed. */
  readonly touched: Set<string>;
  readonly tried: (readonly [key: string, candidate: Candidate])[];
  /** The number of repairs that were done before, and the texts. */
  readonly done: number;
  readonly texts: ReturnType<Texts["saved"]>;
}

/** The repairs of a run. */
class Fixing {
  readonly #given: readonly string[];
  readonly #texts: Texts;
  /** The repairs that were tried, each with its object, so that two that contradict each other end. */
  readonly #tried = new Set<string>();
  readonly #done: string[] = [];
  #last: Round | null = null;
  /** Whether each round applies only one repair. */
  #isCareful = false;
  /** Why repairs stay undone, by file. */
  readonly #left = new Map<string, string>();

  constructor(given: readonly string[], texts: Texts) {
    this.#given = given;
    this.#texts = texts;
  }

  /** Applies at most one repair to each object, because the next one must be judged again. Returns whether it did. */
  repair(roots: readonly JudgedRoot[]): boolean {
    // What cannot be read may contain the very object that a name lacks.
    if (roots.some(({ state }) => state.faults.length > 0)) return false;
    const denied = denialsIn(roots);
    if (this.#undoHarm(denied)) return true;
    const round: Round = { denied, touched: new Set(), tried: [], done: this.#done.length, texts: this.#texts.saved() };
    for (const candidate of candidatesIn(roots, this.#texts)) {
      const key = keyOf(candidate) + JSON.stringify(candidate.found.object);
      const objects = candidate.renderer.foundBy(candidate.repair, candidate.found).map(placeOf);
      const isFull = this.#isCareful && round.tried.length > 0;
      if (isFull || this.#tried.has(key) || objects.some((one) => round.touched.has(one))) continue;
      this.#tried.add(key);
      if (!this.#apply(candidate)) continue;
      round.tried.push([key, candidate]);
      for (const one of objects) round.touched.add(one);
    }
    this.#last = round;
    return round.tried.length > 0;
  }

  /** Undoes the last repairs if another object is denied since then. Returns whether it did. */
  #undoHarm(denied: Round["denied"]): boolean {
    const last = this.#last;
    this.#last = null;
    if (last === null) return false;
    const harm = [...denied].find(([key, { place }]) => !last.denied.has(key) && !last.touched.has(place));
    if (harm === undefined) return false;
    this.#texts.restore(last.texts);
    this.#done.length = last.done;
    const [[, only] = [], ...others] = last.tried;
    // Which of several repairs it was shows if they are applied one after the other.
    this.#isCareful = others.length > 0;
    if (this.#isCareful) for (const [key] of last.tried) this.#tried.delete(key);
    else this.#left.set(only?.found.file ?? "", `a repair would deny another object (${harm[1].code})`);
    return true;
  }

  #apply({ found, finding, repair, renderer }: Candidate): boolean {
    const files = this.#writable(renderer.filesOf(repair, found));
    if (typeof files === "string") {
      this.#left.set(found.file ?? "", files);
      return false;
    }
    if (files.every(({ before, after }) => before === after)) return false;
    this.#texts.keep(files);
    const { file, line } = placeAndName(found, finding.path);
    const what = describeRepairs([repair], finding.path) ?? "";
    this.#done.push(printable(`${file}:${line}: ${finding.code}: ${what}`));
    return true;
  }

  /** Returns why a file must not be written, if one must not. */
  #writable(files: ReturnType<Texts["edited"]>): ReturnType<Texts["edited"]> {
    if (typeof files === "string") return files;
    return files.map(({ file }) => whyUnwritable(file, this.#given)).find((reason) => reason !== null) ?? files;
  }

  /** Writes the files, or prints their changes, and lists the repairs. */
  finish({ dryRun, output }: FixSettings, io: IO): void {
    const out = output === "text" ? io.stdout : io.stderr;
    const files = this.#texts.changes();
    for (const file of files) {
      if (dryRun) out.write(diffOf(file) ?? `${printable(file.file)}: not shown, because a line has an external ID\n`);
      else write(file);
    }
    writeLines(io.stderr, Array.from(this.#left, ([file, reason]) => printable(`not fixed: ${file}: ${reason}`)));
    if (this.#done.length === 0) return;
    const counts = `${countOf(this.#done.length, "repair")} in ${countOf(files.length, "file")}`;
    writeLines(out, [...this.#done, `${counts}${dryRun ? "; nothing is written" : ""}`]);
  }
}

function write({ file, before, after }: EditedFile): void {
  try {
    writeFile(file, before, after);
  } catch (error) {
    throw new ResolverError("ERR_INPUT_UNREADABLE", printable(`${file} cannot be written: ${errorMessage(error)}`));
  }
}

/** Returns the safe repairs that every root with the object proposes, once. */
function candidatesIn(roots: readonly JudgedRoot[], texts: Texts): readonly Candidate[] {
  const byKey = new Map<string, Candidate[]>();
  for (const { state: { objects }, results } of roots) {
    const renderer = new RepairRenderer(objects, texts);
    const ofRoot = results.flatMap(({ found, findings }) => (
      findings.flatMap((finding) => safeRepairs(finding).map((repair) => ({ found, finding, repair, renderer })))
    ));
    for (const [key, one] of new Map(ofRoot.map((candidate) => [keyOf(candidate), candidate]))) {
      byKey.set(key, [...byKey.get(key) ?? [], one]);
    }
  }
  return [...byKey.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const rootsOfObject = roots.filter(({ state }) => roots.length === 1 || state.objects.includes(first.found));
    // Each root has its own objects of the names that a repair changes.
    const isClear = others.length === 0 || first.repair.edits.every(({ of }) => of === undefined);
    return isClear && rootsOfObject.length === others.length + 1 ? [first] : [];
  });
}

function safeRepairs({ repairs = [], waived }: Finding): readonly Repair[] {
  const [repair, ...others] = repairs;
  if (repair?.isSafe !== true || others.length > 0 || waived) return [];
  // A repair that creates or deletes objects needs a person.
  return repair.edits.every(({ path }) => path.length > 0) ? [repair] : [];
}

function keyOf({ found, finding, repair }: Omit<Candidate, "renderer">): string {
  return JSON.stringify([placeOf(found), finding.code, repair.edits]);
}

function placeOf({ file, document, at }: StateObject): string {
  return JSON.stringify([file, document, at]);
}

function denialsIn(roots: readonly JudgedRoot[]): Round["denied"] {
  return new Map(roots.flatMap(({ results }) => results.flatMap(({ found, findings }) => (
    findings.filter(({ severity }) => severity === "deny").map(({ code }) => {
      const place = placeOf(found);
      return [`${place} ${code}`, { place, code }] as const;
    })
  ))));
}
