import { field, stringAt } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { type IAMReader, listAt, type ReaderContext } from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";
import { resourceOf, TerraformConfiguration, type TerraformResource } from "./terraform-plan.ts";
import { TerraformIAM } from "./terraform-iam.ts";

/**
 * Reads the output of `terraform show -json` for a state or a plan. A state contains secrets in clear text: keeps only
 * resources of IAM. Source: https://developer.hashicorp.com/terraform/internals/json-format
 */
export class TerraformJSON implements IAMReader {
  readonly #context: ReaderContext;
  readonly #resources: TerraformResource[] = [];
  #configuration: unknown = null;
  #content: "state" | "plan" | null = null;

  constructor(context: ReaderContext) {
    this.#context = context;
  }

  add({ key, index, value }: JSONElement): void {
    if (key === "format_version") checkVersion(value);
    else if (key === "values") this.#addState(value);
    else if (key === "configuration") this.#configuration = value;
    else if (key === "resource_changes") {
      this.#content = "plan";
      if (index !== null) this.#addChange(value);
    } else if (key === "lineage") {
      throw new Error("this is the file of a state, not JSON output; pass the output of terraform show -json");
    }
  }

  finish(): void {
    if (this.#content === null) throw new Error("neither values of a state nor resource_changes of a plan exist");
    const iam = new TerraformIAM(this.#context, new TerraformConfiguration(this.#configuration), this.#resources);
    iam.addResources();
  }

  #addState(values: unknown): void {
    this.#content = "state";
    const open = [field(values, "root_module")];
    for (let module = open.pop(); module !== undefined; module = open.pop()) {
      for (const resource of listAt(module, "resources")) this.#keep(resource, field(resource, "values"), null);
      for (const child of listAt(module, "child_modules")) open.push(child);
    }
  }

  #addChange(change: unknown): void {
    if (stringAt(change, "deposed") !== null) return;
    this.#keep(change, field(field(change, "change"), "after"), field(field(change, "change"), "after_unknown"));
  }

  #keep(object: unknown, values: unknown, unknown: unknown): void {
    const resource = resourceOf(object, values, unknown);
    if (resource !== null) this.#resources.push(resource);
  }
}

function checkVersion(version: unknown): void {
  if (typeof version === "string" && version.startsWith("1.")) return;
  throw new Error(`format_version ${quote(String(version))} is not 1.x; use Terraform 1.1 or later`);
}
