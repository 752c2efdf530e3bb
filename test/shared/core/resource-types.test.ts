import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { entryMatches, type TypeEntry, TypeSet } from "../../../shared/core/resource-types.ts";
import { GROUPS, KINDS, VERSIONS } from "../arbitraries.ts";
import { parameters } from "../property.ts";

const entry: fc.Arbitrary<TypeEntry> = fc.record({
  group: fc.constantFrom("", ...GROUPS, "g/v1"), version: fc.constantFrom("", ...VERSIONS, "v1/K"),
  kind: fc.constantFrom("", ...KINDS),
});

test("matches the same types as a comparison with each entry", (t) => {
  const input = { entries: fc.array(entry, { minLength: 1, maxLength: 20, size: "max" }), type: entry };
  fc.assert(fc.property(fc.record(input), ({ entries, type }) => {
    const types = new TypeSet(entries);
    const ofGroup = entries.filter(({ group }) => group === "" || group === type.group);
    const ofKind = ofGroup.filter(({ kind }) => kind === "" || kind === type.kind);
    assert.equal(types.matches(type), entries.some((one) => entryMatches(one, type)));
    assert.equal(types.coversGroup(type.group), ofGroup.length > 0);
    assert.deepEqual([...types.kindsOf(type.group)].toSorted(), valuesOf(ofGroup, "kind"));
    assert.deepEqual([...types.versionsOf(type.group, type.kind)].toSorted(), valuesOf(ofKind, "version"));
  }), parameters(t, 5_000));
  t.end();
});

function valuesOf(entries: readonly TypeEntry[], part: keyof TypeEntry): string[] {
  return [...new Set(entries.map((one) => one[part]))].toSorted();
}

test("reads each of 1,000 entries at most twice, regardless of the number of lookups", (t) => {
  let reads = 0;
  const entries = Array.from({ length: 1_000 }, (_, i): TypeEntry => ({
    get group() {
      reads++;
      return "s3.services.k8s.aws";
    },
    version: "",
    kind: `Kind${i}`,
  }));
  const types = new TypeSet(entries);
  for (const { kind } of entries) {
    assert.ok(types.matches({ group: "s3.services.k8s.aws", version: "v1", kind }));
    assert.ok(!types.matches({ group: "sqs.services.k8s.aws", version: "v1", kind }));
  }
  t.ok(reads <= 2 * entries.length, `${reads} reads`);
  t.end();
});
