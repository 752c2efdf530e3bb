import { type Test, test } from "tap";
import { ALL_CLOSED, type Closures, NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { FakeClock } from "../../shared/fake-clock.ts";
import { SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";
import { FakeKubernetes } from "../../certs/rotation/fake-kubernetes.ts";
import { pass, type Replica, startReplica } from "./reconciler-fixture.ts";

const PODS = "/api/v1/namespaces/ack-system/pods";
const EVENTS = "/apis/events.k8s.io/v1/namespaces/ack-system/events";
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const STRICT = ALL_CLOSED;

function pod(name: string, args: readonly string[]): JsonObject {
  const initContainers = [{ name: "ack-role-resolver", args: ["sidecar", "--cluster", ...args] }];
  return {
    apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "ack-system", uid: `uid-${name}` },
    spec: { initContainers, containers: [{ name: "controller" }] },
  };
}

class Subject {
  readonly api = new FakeKubernetes();
  readonly clock = new FakeClock();
  readonly replica: Replica;

  constructor(t: Test, closures: Closures = STRICT, image: string | null = "resolver:1") {
    const injection = { ...SETTINGS_BY_DEFAULT.injection, image, closures };
    this.api.put(`${PODS}/old`, pod("old", []));
    this.api.put(`${PODS}/new`, pod("new", ["--profile-namespace=ack-role-resolver"]));
    this.api.put(`${PODS}/web`, { ...pod("web", []), spec: { containers: [{ name: "web" }] } });
    this.replica = startReplica(t, this.api, this.clock, { settings: { ...SETTINGS_BY_DEFAULT, injection } });
  }

  /** The reason and the Pod of each Event. */
  get events(): string[] {
    return [...this.api.objects].filter(([path]) => path.startsWith(EVENTS)).map(([, event]) => (
      `${stringAt(event, "reason")} ${stringAt(event, "regarding", "kind")}/${stringAt(event, "regarding", "name")}`
    ));
  }

  get lists(): number {
    return this.api.requests.filter((request) => request === `GET ${PODS}`).length;
  }

  pass(ms: number): Promise<void> {
    return pass(this.clock, ms, this.api, [this.replica]);
  }
}

test("writes an Event on each Pod whose sidecar does not follow the profile, and lists every 5 minutes", async (t) => {
  const subject = new Subject(t);
  await subject.pass(3 * SECOND);
  t.same(subject.events, ["ProfileNotFollowed Pod/old"]);
  t.equal(subject.lists, 1);
  subject.api.put(`${PODS}/late`, pod("late", ["--profile=enforce"]));
  await subject.pass(5 * MINUTE);
  t.same(subject.events, ["ProfileNotFollowed Pod/old", "ProfileNotFollowed Pod/late"]);
  t.equal(subject.lists, 2);
});

test("lists no Pods if the profile closes nothing, or if the webhook injects nothing", async (t) => {
  const subjects = [new Subject(t, NOTHING_CLOSED), new Subject(t, STRICT, null)];
  for (const subject of subjects) {
    await subject.pass(3 * SECOND);
    t.equal(subject.lists, 0);
  }
});

test("logs a missing right once, with the fix, and retries", async (t) => {
  const subject = new Subject(t);
  subject.api.rejected.set(`GET ${PODS}`, 403);
  await subject.pass(11 * MINUTE);
  const lines = subject.replica.lines.filter((line) => line.includes("Pods with a sidecar cannot be listed"));
  t.equal(lines.length, 1);
  t.match(lines[0], "apply the objects of `ack-role-resolver manifests rbac`");
  t.equal(subject.lists, 3);
  subject.api.rejected.clear();
  await subject.pass(5 * MINUTE);
  t.same(subject.events, ["ProfileNotFollowed Pod/old"]);
});
