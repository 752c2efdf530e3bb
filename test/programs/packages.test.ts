import { test } from "tap";
import { machineFault } from "./packages.ts";

const ROOT = { uid: 0, packages: { coreutils: "/bin/sh" } } as const;

test("states why a machine cannot run a node, and the fix", async (t) => {
  const reason = "a cluster with Pods needs root; run the tests as root on Linux";
  t.equal(await machineFault({ ...ROOT, uid: 1000 }), reason);
  t.equal(await machineFault({ ...ROOT, uid: undefined }), reason);
  const packages = { runc: "/nonexistent/runc", coreutils: "/bin/sh", buildah: "/nonexistent/buildah" };
  t.equal(
    await machineFault({ ...ROOT, packages }),
    "runc, buildah: not installed; run `npm run setup:cluster` on Debian",
  );
});
