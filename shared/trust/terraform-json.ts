import { field, stringAt } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { type IAMReader, listAt, type ReaderContext } from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";
import { resourceOf, TerraformConfiguration, type TerraformResource, unknownOf } from "./terraform-plan.ts";
import { TerraformIAM } from "./terraform-iam.ts";

/**
 * Reads the output of `terraform show -json` for a state or a plan. A state contains secrets in clear text: keeps only
 * resources of IAM. Source: https://developer.hashicorp.com/terraform/internals/json-format
 */
export class TerraformJSON implements IAMReader {
  readonly #context: ReaderContext;
  readonly #resources: TerraformResource[] = [];
  /** The resources as they were before a plan, without those that Terraform forgets but does not delete. */
  readonly #prior: TerraformResource[] = [];
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
    const prior = this.#content === "plan" ? this.#prior : null;
    const configuration = new TerraformConfiguration(this.#configuration);
    new TerraformIAM(this.#context, configuration, { resources: this.#resources, prior }).addResources();
  }

  #addState(values: unknown): void {
    this.#content = "state";
    const open = [field(values, "root_module")];
    for (let module = open.pop(); module !== undefined; module = open.pop()) {
      for (const resource of listAt(module, "resources")) {
        keep(this.#resources, resource, field(resource, "values"), unknownOf(resource));
      }
      for (const child of listAt(module, "child_modules")) open.push(child);
    }
  }

  #addChange(object: unknown): void {
    if (stringAt(object, "deposed") !== null) return;
    const change = field(object, "change");
    keep(this.#resources, object, field(change, "after"), field(change, "after_unknown"));
    if (!listAt(change, "actions").includes("forget")) keep(this.#prior, object, field(change, "before"), null);
  }
}

function keep(resources: TerraformResource[], object: unknown, values: unknown, unknown: unknown): void {
  const resource = resourceOf(object, values, unknown);
  if (resource !== null) resources.push(resource);
}

function checkVersion(version: unknown): void {
  if (typeof version === "string" && version.startsWith("1.")) return;
  throw new Error(`format_version ${quote(String(version))} is not 1.x; use Terraform 1.1 or later`);
}
