import * as fc from "fast-check";
import { test } from "tap";
import { formatSeconds, secondsOf } from "../../../shared/trust/date-value.ts";
import { parameters } from "../property.ts";

test("reads and formats the seconds that Date has", async (t) => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => {
    const text = `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
    return secondsOf(text) === seconds && formatSeconds(seconds) === text;
  }), parameters(t, 1_000));
});

test("reads dates, zones and numbers of seconds", async (t) => {
  t.equal(secondsOf("2026-02-28"), Date.UTC(2026, 1, 28) / 1000);
  t.equal(secondsOf("2026-02-28T10:00+02:30"), Date.UTC(2026, 1, 28, 7, 30) / 1000);
  t.equal(secondsOf("2026-02-28T10:00:30.5-01:00"), Date.UTC(2026, 1, 28, 11, 0, 30) / 1000);
  t.equal(secondsOf("1793491200"), 1_793_491_200);
  t.equal(secondsOf("0001-01-01"), -62_135_596_800);
  t.equal(secondsOf("1969-12-31T23:59:59.5Z"), -1);
});

test("rejects other texts", async (t) => {
  const texts = [
    "", "soon", "2026", "2026-13-01", "2026-00-01", "2026-02-29", "2026-02-00", "2026-01-01T10:00", "2026-01-01T24:00Z",
    "2026-01-01T10:60Z", "2026-01-01T10:00:60Z", "2026-01-01T10:00:00+24:00",
  ];
  t.same(texts.map(secondsOf), texts.map(() => null));
});
