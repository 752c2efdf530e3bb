import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { codeBlocks } from "../../documented-commands.ts";
import { selectorObject } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { until } from "../apiserver/until.ts";
import { CHART } from "./helm.ts";

const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const MALFORMED = selectorObject("urgent", { arn: "arn:aws:iam:1:a", namespaceSelector: { names: ["orders"] } });
const EFFECT_LIMIT_MS = 15_000;

/**
 * Runs the commands in the section Emergency of the runbook: the first saves the objects, the second deletes the
 * webhook configurations, and the third deletes the binding of a policy. Tests their effects, and restores the objects.
 */
export async function emergency(t: Test, { cluster }: { readonly cluster: Cluster }): Promise<void> {
  const [save = "", remove = "", unbind = ""] = await documentedCommands();
  const kubectl = async (command: string, input = ""): Promise<string> => {
    const { code, stdout, stderr } = await cluster.kubectl(command.split(/ +/).slice(1), { input });
    t.equal(code, 0, `${command}: ${stderr}`);
    return stdout;
  };
  const answers = async (message: RegExp): Promise<boolean> => {
    const { status, body } = await cluster.request("POST", SELECTORS, MALFORMED);
    return message.test(status === 201 ? "created" : stringAt(body, "message") ?? "");
  };
  const names = save.replace("-o yaml", "-o name");
  const [saved, before] = [await kubectl(save), await kubectl(names)];
  t.ok(await until(async () => await answers(/failed calling webhook/), EFFECT_LIMIT_MS));
  await kubectl(remove);
  t.ok(await until(async () => await answers(/^created$/), EFFECT_LIMIT_MS), "no policy repeats the webhook's denials");
  await kubectl(unbind);
  await kubectl("kubectl apply --filename -", saved);
  t.equal(await kubectl(names), before);
}

async function documentedCommands(): Promise<readonly string[]> {
  const page = await readFile(path.join(CHART, "../../docs/runbook.md"), "utf8");
  const blocks = codeBlocks(page.split("## Emergency\n")[1] ?? "", "sh").map(([, block]) => block);
  return blocks.join("").replaceAll("\\\n", "").split("\n").map((line) => line.replace(/ > .*$/, ""));
}
