import type { Command } from "../shared/core/setting-definition.ts";

/** The examples in the help of each command. A test passes each to the program. */
export const EXAMPLES: Readonly<Record<Command | "", readonly string[]>> = {
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
  map: [
    "ack-role-resolver map manifests --html role-map.html",
    "ack-role-resolver map --cluster --html role-map.html",
  ],
  impact: [
    "ack-role-resolver impact --from main -o markdown branch > comment.md",
    "ack-role-resolver impact --cluster --delete old-selector.yaml",
  ],
  explain: ["ack-role-resolver explain IRS-30", "ack-role-resolver explain ERR_SELECTOR_CONFLICT"],
  "migrate carm": ["ack-role-resolver migrate carm --cluster > selectors.yaml"],
  trust: [
    "ack-role-resolver trust --from manifests --iam iam.json \\",
    "    --caller arn:aws:iam::111122223333:role/ack --via sidecar \\",
    "    --caller-credentials pod-identity",
  ],
  "trust check": [
    "ack-role-resolver trust check --iam iam.json \\",
    "    --caller arn:aws:iam::111122223333:role/ack \\",
    "    --role arn:aws:iam::444455556666:role/team-a --external-id team-a",
  ],
  "trust who": [
    "ack-role-resolver trust who team-a --from manifests --iam iam.json \\",
    "    --intended arn:aws:iam::111122223333:role/ack",
    "ack-role-resolver trust who --all --iam iam.json -o json",
  ],
  "trust policy": [
    "ack-role-resolver trust policy team-a --from manifests -o terraform \\",
    "    --caller arn:aws:iam::111122223333:role/ack",
    "ack-role-resolver trust policy --all --cluster --iam iam.json --diff \\",
    "    --caller arn:aws:iam::111122223333:role/ack",
  ],
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
