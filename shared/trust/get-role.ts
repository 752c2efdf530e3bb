import { stringAt } from "../formats/json.ts";
import { EVERY_GAP, type Gap } from "./iam-objects.ts";
import {
  boundaryAt, documentAt, type IAMReader, listAt, notePage, numberAt, type ReaderContext, tagsOf, withARN,
} from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";

const POLICY_GAPS: readonly Gap[] = EVERY_GAP.filter(({ part }) => part !== "permissions boundary");

/**
 * Reads the output of `aws iam get-role`, any number of times in a row, and of `aws iam list-roles`. Neither has the
 * policies of a role, and a list has neither its boundary nor its tags.
 */
export class GetRole implements IAMReader {
  readonly #context: ReaderContext;
  readonly #files: readonly string[];

  constructor(context: ReaderContext) {
    this.#context = context;
    this.#files = [context.file];
  }

  add(element: JSONElement): void {
    const { key, index, value } = element;
    notePage(this.#context, element);
    const isListed = key === "Roles" && index !== null;
    if (!isListed && key !== "Role") return;
    const { arn, object } = withARN(value, isListed ? `Roles[${index}]` : "Role");
    const { data } = this.#context;
    data.add({
      kind: "role", arn, files: this.#files, inline: [], attached: [], gaps: isListed ? EVERY_GAP : POLICY_GAPS,
      uniqueID: stringAt(object, "RoleId"), tags: isListed ? null : tagsOf(listAt(object, "Tags")),
      boundary: boundaryAt(object), trust: documentAt(data, object, "AssumeRolePolicyDocument"), isStored: true,
      maxSessionSeconds: numberAt(object, "MaxSessionDuration"),
    });
  }

  /** Each role is a whole. */
  finish(): void {}
}
