/** What the schema of Jenkins' xUnit plugin (junit-10.xsd) says about an element that reports have. */
interface ElementRule {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  readonly children: readonly string[];
  readonly hasText: boolean;
}

const RESULT: ElementRule = { required: [], optional: ["type", "message"], children: [], hasText: true };
const OUTPUT: ElementRule = { required: [], optional: [], children: [], hasText: true };
const RULES: ReadonlyMap<string, ElementRule> = new Map(Object.entries({
  testsuites: {
    required: [], optional: ["name", "time", "tests", "failures", "errors"], children: ["testsuite"], hasText: false,
  },
  testsuite: {
    required: ["name", "tests", "failures", "errors"],
    optional: ["group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"],
    children: ["testsuite", "properties", "testcase", "system-out", "system-err"], hasText: false,
  },
  testcase: {
    required: ["name"], optional: ["time", "classname", "group"],
    children: ["skipped", "error", "failure", "system-out", "system-err"], hasText: false,
  },
  skipped: RESULT, error: RESULT, failure: RESULT, "system-out": OUTPUT, "system-err": OUTPUT,
}));

const TOKEN = /<\?[^>]*\?>|<(\/?)([\w-]+)((?: [\w-]+="[^"<]*")*)>|([^<]+)/y;
const TIME = /^[\d,]*(?:\.\d*)?$/;

/** Returns what the schema does not allow in a report, whose elements all have an end tag. */
export function junitFaults(report: string): string[] {
  const faults: string[] = [];
  const open: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < report.length) {
    const match = TOKEN.exec(report);
    if (match === null) return [...faults, "not well-formed"];
    const [, end, name, attributes = "", text = ""] = match;
    const parent = open.at(-1);
    if (name === undefined) faults.push(...textFaults(text, parent));
    else if (end === "/") {
      if (open.pop() !== name) return [...faults, "not well-formed"];
    } else {
      faults.push(...elementFaults(name, parent, attributes));
      open.push(name);
    }
  }
  return open.length === 0 ? faults : [...faults, "not well-formed"];
}

function textFaults(text: string, parent = ""): string[] {
  return text.trim() === "" || RULES.get(parent)?.hasText === true ? [] : [`text in <${parent}>`];
}

function elementFaults(name: string, parent: string | undefined, text: string): string[] {
  const rule = RULES.get(name);
  if (rule === undefined) return [`<${name}> is not defined`];
  const attributes = new Map([...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]));
  const isPlaced = parent === undefined || RULES.get(parent)?.children.includes(name) === true;
  const allowed = new Set([...rule.required, ...rule.optional]);
  const time = name === "testcase" ? "" : attributes.get("time") ?? "";
  return [
    ...(isPlaced ? [] : [`<${name}> in <${parent}>`]),
    ...rule.required.filter((key) => !attributes.has(key)).map((key) => `<${name}>: ${key} is missing`),
    ...[...attributes.keys()].filter((key) => !allowed.has(key)).map((key) => `<${name}>: attribute ${key}`),
    ...(TIME.test(time) ? [] : [`<${name}>: time="${time}"`]),
  ];
}
