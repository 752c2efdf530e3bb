import { test } from "tap";
import { isInRange } from "../../../shared/trust/condition.ts";

test("compares addresses with ranges of both versions", async (t) => {
  t.ok(isInRange("10.1.2.3", "10.0.0.0/8"));
  t.ok(isInRange("10.1.2.3", "10.1.2.3"));
  t.ok(isInRange("10.1.2.3", "0.0.0.0/0"));
  t.notOk(isInRange("11.1.2.3", "10.0.0.0/8"));
  t.ok(isInRange("2001:db8::1", "2001:DB8::/32"));
  t.ok(isInRange("::", "0:0:0:0:0:0:0:0/128"));
  t.equal(isInRange("2001:db9::1", "2001:db8::/32"), false);
  t.equal(isInRange("10.1.2.3", "::/0"), false, "the versions differ");
  t.equal(isInRange("::ffff:a01:203", "10.0.0.0/8"), false, "a mapped address is one of IPv6");
  t.ok(isInRange("::ffff:a01:203", "::ffff:0:0/96"));
  t.ok(isInRange("2001:db8:ff::1", "2001:db8::/33"));
  t.notOk(isInRange("2001:db8:8000::1", "2001:db8::/33"));
});

test("rejects invalid addresses and ranges", async (t) => {
  const invalid = [
    "", "10.0.0", "10.0.0.256", "10.0.0.0/33", "10.0.0.0/a", "10.0.0.0/8/8", "1::2::3", "1:2:3:4:5:6:7", "g::",
    "1:2:3:4:5:6:7::8", "::ffff:10.0.0.1", "::/129",
    "fe80::1%eth0", "010.0.0.1",
  ];
  t.same(invalid.map((range) => isInRange("10.0.0.1", range)), invalid.map(() => null));
  t.equal(isInRange("10.0.0.0/8", "10.0.0.0/8"), null, "the request has one address");
});
