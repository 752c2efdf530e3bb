import type { Command } from "../shared/core/setting-definition.ts";
import { FEATURES } from "./features.ts";

/** The examples in the help of each command. */
const EXAMPLES: Partial<Readonly<Record<Command | "", readonly string[]>>> = {
  "": ["ack-role-resolver lint manifests", "ack-role-resolver resolve --cluster"],
  local: ["ack-role-resolver local --from manifests --region eu-central-1"],
  webhook: ["ack-role-resolver webhook --cluster -n ack-role-resolver --tls-dir tls"],
  sidecar: [
    "ack-role-resolver sidecar --cluster --group s3.services.k8s.aws \\",
    "    --region eu-west-1 --token-file /run/ack-role-resolver/token",
  ],
  lint: [
    "helm template . | ack-role-resolver lint --fail-on warn -",
    "ack-role-resolver lint --cluster -o junit > report.xml",
  ],
  resolve: [
    "ack-role-resolver resolve manifests",
    "ack-role-resolver resolve --cluster --explain -n team-a \\",
    "    --kind Bucket.s3.services.k8s.aws",
  ],
  why: ["ack-role-resolver why bucket/logs -n team-a --cluster", "ack-role-resolver why bucket/logs --from manifests"],
  audit: ["ack-role-resolver audit --cluster", "ack-role-resolver audit -o sarif manifests > audit.sarif"],
  impact: [
    "ack-role-resolver impact --from main -o markdown branch > comment.md",
    "ack-role-resolver impact --cluster --delete old-selector.yaml",
  ],
  explain: ["ack-role-resolver explain IRS-30", "ack-role-resolver explain ERR_SELECTOR_CONFLICT"],
  "credential-process": [
    "ack-role-resolver credential-process --endpoint http://127.0.0.1:9780 \\",
    "    --token-file /run/ack-role-resolver/token --selector team-a",
  ],
  "certs make": ["ack-role-resolver certs make --dir tls --host webhook.example.com"],
  "certs manage": ["ack-role-resolver certs manage --namespace ack-role-resolver"],
  manifests: [
    "ack-role-resolver manifests rbac | kubectl apply -f -",
    "ack-role-resolver manifests --url https://webhook.example.com \\",
    "    --ca-file tls/ca.crt",
  ],
  completion: [
    "ack-role-resolver completion bash > /etc/bash_completion.d/ack-role-resolver",
    "ack-role-resolver completion zsh > \"${fpath[1]}/_ack-role-resolver\"",
  ],
  version: ["ack-role-resolver version -o json"],
};

/** Returns the examples in the help of a command; none for a command that the program lacks. */
export function examplesOf(command: Command | ""): readonly string[] {
  const ofFeatures = command === "" ? [] : FEATURES.flatMap(({ examples }) => examples?.[command] ?? []);
  return EXAMPLES[command] ?? ofFeatures;
}
