import { test } from "tap";
import { readSessionDefaults, withDefaults } from "../../../shared/core/session-defaults.ts";
import { NO_EXTRAS } from "../../../shared/core/session.ts";

const NONE = { defaultExternalId: null, defaultSourceIdentity: null, defaultSessionTags: [] };
const DEFAULTS = readSessionDefaults({
  defaultExternalId: "org-1", defaultSourceIdentity: "ack", defaultSessionTags: ["team={namespace}", "org=a"],
});

test("adds the defaults to session settings, which override them by field, and by key of a tag", (t) => {
  const tags = [{ key: "org", value: "a" }, { key: "team", value: "{namespace}" }];
  t.strictSame(withDefaults(NO_EXTRAS, DEFAULTS), { ...NO_EXTRAS, externalID: "org-1", sourceIdentity: "ack", tags });
  const own = {
    ...NO_EXTRAS, externalID: "own", sessionName: "own-name", sourceIdentity: "own-source", durationSeconds: 900,
    tags: [{ key: "Team", value: "" }],
  };
  t.strictSame(withDefaults(own, DEFAULTS), {
    ...own, tags: [{ key: "Team", value: "" }, { key: "org", value: "a" }],
  }, "STS does not distinguish the case of tag keys");
  const all = [{ key: "ORG", value: "b" }, { key: "team", value: "c" }];
  t.same(withDefaults({ ...own, tags: all }, DEFAULTS).tags, all);
  t.end();
});

test("changes nothing without defaults", (t) => {
  t.equal(withDefaults(NO_EXTRAS, readSessionDefaults(NONE)), NO_EXTRAS);
  t.end();
});
