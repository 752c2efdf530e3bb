import type { DecisionSettings, Requester } from "../../context.ts";
import { isACKController } from "../../exemptions.ts";
import type { FieldPath } from "../../kubernetes/field-path.ts";
import { quote } from "../../kubernetes/text.ts";
import type { CheckEntry, Fault, QuickCheck } from "../check.ts";

interface ControllerWrite {
  /** Null offline. */
  readonly requester: Requester | null;
  readonly settings: DecisionSettings;
}

/** What differs between the kinds of objects that decide roles. */
type ControllerCheck = Pick<CheckEntry, "id" | "reason" | "fix" | "example"> & {
  /** The objects, in the plural. */
  readonly objects: string;
  readonly path: FieldPath;
};

/** Returns the check that denies ACK controllers each write of an object that decides which roles they use. */
export function controllerCheck({ objects, path, ...texts }: ControllerCheck): QuickCheck<ControllerWrite> {
  return {
    ...texts,
    severity: "deny",
    waivable: false,
    requires: ["the requester", "--controller-users"],
    on: ["CREATE", "UPDATE", "DELETE"],
    ofChange: true, // the webhook does not know who wrote the stored object
    *find({ requester, settings }): Iterable<Fault> {
      if (requester === null || !isACKController(requester, settings)) return;
      const name = quote(requester.username);
      const message = `the requester ${name} is an ACK controller, and ACK controllers must not write ${objects}`;
      yield { path, message };
    },
  };
}
