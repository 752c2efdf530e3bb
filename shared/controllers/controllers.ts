import type { Fault, QuickCheck } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import { objectsAt, podTemplateOf } from "../core/pod.ts";
import { by, type Repair } from "../core/repair.ts";
import { field, type JsonObject } from "../formats/json.ts";
import { listOf } from "../formats/text.ts";
import { type ControllerDeployment, readControllers, roleSourceOf } from "./controller-deployment.ts";

/** A Deployment, which may run an ACK controller. */
interface StoredDeployment {
  readonly object: JsonObject;
  readonly settings: DecisionSettings;
}

const PATH = ["spec", "template", "spec", "containers"] as const;
const OWN_ROLE = "so it uses its own role for every resource";

export const AUD_15: QuickCheck<StoredDeployment> = {
  id: "AUD-15",
  severity: "warn",
  reason: "A controller uses its own role for every resource if it reads neither IAMRoleSelectors nor the CARM maps, "
    + "or may not list IAMRoleSelectors; the check warns about that. It exits at its start if both are turned on. The "
    + "check reads the Deployments in the namespace of --ack-system-namespace.",
  fix: "in the controller's chart, set featureGates.IAMRoleSelector=true, enableCARM=false and installScope=cluster",
  example: "# A chart of ACK with featureGates.IAMRoleSelector=true and installScope=namespace.",
  on: ["AUDIT"],
  inAudit: { severity: "deny" },
  *find({ object, settings: { ackSystemNamespace } }): Iterable<Fault> {
    for (const controller of readControllers([object], ackSystemNamespace).controllers) {
      const exits = roleSourceOf(controller) === "exits";
      const fault = exits ? exitFault(object) : ownRoleFault(controller);
      if (fault !== null) yield { path: PATH, ...fault };
    }
  },
};

function exitFault(object: JsonObject): Omit<Fault, "path"> {
  return {
    message: "the feature gate IAMRoleSelector and CARM are both on, so the controller exits at its start",
    fix: "turn CARM off: set --enable-carm=false in the Deployment, and enableCARM=false in the values of its chart, "
      + "which otherwise turns it on again",
    repairs: turningCARMOff(object),
  };
}

/** Returns the argument that turns CARM off, in the only container that has arguments. */
function turningCARMOff(object: JsonObject): readonly Repair[] {
  const containers = objectsAt(field(podTemplateOf(object)?.pod, "spec"), "containers");
  const [only, ...others] = containers.flatMap((container, index) => {
    const args: unknown = field(container, "args");
    return Array.isArray(args) && args.length > 0 ? [{ index, args: args.map(String) }] : [];
  });
  if (only === undefined || others.length > 0) return [];
  const { index, args } = only;
  const position = args.findLastIndex((one) => /^--enable-carm(?:=|$)/.test(one));
  return by({ path: [...PATH, index, "args", position === -1 ? args.length : position], value: "--enable-carm=false" });
}

function ownRoleFault(controller: ControllerDeployment): Omit<Fault, "path"> | null {
  const severity = "warn";
  const source = roleSourceOf(controller);
  const namespaces = controller.watchNamespaces.value ?? [];
  if (source === "selectors" && namespaces.length > 0) {
    const message = `the controller watches only ${listOf(namespaces)}, and with installScope=namespace, its chart `
      + `grants no right to list IAMRoleSelectors, ${OWN_ROLE}`;
    const fix = "grant its service account get, list and watch on iamroleselectors.services.k8s.aws and namespaces in "
      + "a ClusterRole, or set installScope=cluster (aws-controllers-k8s/community#2755)";
    return { severity, message, fix };
  }
  if (source !== "own") return null;
  if (controller.enableCARM.value === false) {
    const message = `the feature gate IAMRoleSelector and CARM are both off in the controller, ${OWN_ROLE}`;
    return { severity, message };
  }
  const message = `the controller watches only ${listOf(namespaces)}, and then does not start CARM, ${OWN_ROLE}`;
  return { severity, message };
}
