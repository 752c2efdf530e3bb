{{/* The part of the names of the workloads that the release chooses. */}}
{{- define "ack-role-resolver.fullname" -}}
{{- .Values.fullnameOverride | default (include "ack-role-resolver.name" .) }}
{{- end }}

{{- define "ack-role-resolver.name" -}}
{{- .Values.nameOverride | default "ack-role-resolver" }}
{{- end }}

{{/* The name of the Deployment, the Service and the other objects of a component: a list of the root and the component. */}}
{{- define "ack-role-resolver.workload" -}}
{{- printf "%s-%s" (include "ack-role-resolver.fullname" (first .)) (last .) }}
{{- end }}

{{/* The service account of the webhook. */}}
{{- define "ack-role-resolver.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "ack-role-resolver.workload" (list . "webhook")) }}
{{- end }}

{{/* The labels of an object whose name is fixed. The argument is a list of the root and the component. */}}
{{- define "ack-role-resolver.labels" -}}
{{- $component := last . }}
{{- with first . }}
  {{- $own := dict
    "app.kubernetes.io/name" "ack-role-resolver"
    "app.kubernetes.io/component" $component
    "app.kubernetes.io/version" .Chart.AppVersion
    "app.kubernetes.io/instance" .Release.Name
    "app.kubernetes.io/managed-by" .Release.Service
    "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") }}
  {{- toYaml (merge $own (.Values.commonLabels | default dict)) }}
{{- end }}
{{- end }}

{{/* The labels of a workload and of what belongs to it. The argument is a list of the root and the component. */}}
{{- define "ack-role-resolver.workloadLabels" -}}
{{- toYaml (mergeOverwrite (include "ack-role-resolver.labels" . | fromYaml) (include "ack-role-resolver.selectorLabels" . | fromYaml)) }}
{{- end }}

{{/* The labels of the Pods of a component. */}}
{{- define "ack-role-resolver.podLabels" -}}
{{- toYaml (mergeOverwrite (include "ack-role-resolver.workloadLabels" . | fromYaml) ((first .).Values.podLabels | default dict)) }}
{{- end }}

{{/* The labels that select the Pods of a component. A selector cannot change, so these labels do not depend on a version. */}}
{{- define "ack-role-resolver.selectorLabels" -}}
app.kubernetes.io/name: {{ include "ack-role-resolver.name" (first .) | quote }}
app.kubernetes.io/component: {{ last . }}
{{- end }}

{{/* Where the certificate of the webhook comes from: `certificates.mode`, or "outside" for a webhook outside the cluster. */}}
{{- define "ack-role-resolver.certificates" -}}
{{- if .Values.webhook.url }}outside{{ else }}{{ .Values.certificates.mode }}{{ end }}
{{- end }}

{{/* How the API server calls the path of the webhook, as JSON. The argument is a list of the root and the path. */}}
{{- define "ack-role-resolver.clientConfig" -}}
{{- $path := last . }}
{{- with first . }}
  {{- $service := dict "namespace" .Release.Namespace "name" (include "ack-role-resolver.workload" (list . "webhook")) "path" $path "port" 443 }}
  {{- $config := dict "service" $service }}
  {{- with .Values.webhook.url }}{{ $config = dict "url" (printf "%s%s" (trimSuffix "/" .) $path) }}{{ end }}
  {{- $source := include "ack-role-resolver.certificates" . }}
  {{- if eq $source "files" }}{{ $_ := set $config "caBundle" (b64enc .Values.certificates.caBundle) }}{{ end }}
  {{- if eq $source "outside" }}{{ $_ := set $config "caBundle" (b64enc .Values.webhook.caBundle) }}{{ end }}
  {{- toJson $config }}
{{- end }}
{{- end }}

{{/*
The name of the Secret of the certificate. Each mode has its own, so that an upgrade can change the mode: Helm deletes
the Secret of the mode self-signed then, and cert-manager keeps its own.
*/}}
{{- define "ack-role-resolver.certificate" -}}
{{- if eq .Values.certificates.mode "files" }}{{ .Values.certificates.secretName }}
{{- else if eq .Values.certificates.mode "cert-manager" }}ack-role-resolver-webhook-cert-manager
{{- else }}ack-role-resolver-webhook-tls
{{- end }}
{{- end }}

{{/* The URL of a Service that does not have the name for which a certificate is made by default; else empty. */}}
{{- define "ack-role-resolver.serviceURL" -}}
{{- if .Values.settings.url }}
  {{- .Values.settings.url }}
{{- else if ne (include "ack-role-resolver.fullname" .) "ack-role-resolver" }}
  {{- printf "https://%s.%s.svc" (include "ack-role-resolver.workload" (list . "webhook")) .Release.Namespace }}
{{- end }}
{{- end }}

{{/* The address of a listener, or empty for that of the program: a list of the root, the port, and that of the program. */}}
{{- define "ack-role-resolver.listen" -}}
{{- $root := first . }}
{{- $address := printf "%s:%d" ($root.Values.dualStack | ternary "[::]" "0.0.0.0") (int (index . 1)) }}
{{- if ne $address (printf "0.0.0.0:%d" (last .)) }}{{ $address }}{{ end }}
{{- end }}

{{- define "ack-role-resolver.image" -}}
{{- with .Values.image -}}
{{ with .registry }}{{ . }}/{{ end }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* Not empty if Helm renders the chart for a cluster. Empty for `helm template`, whose lookups find nothing. */}}
{{- define "ack-role-resolver.cluster" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" }}true{{ end }}
{{- end }}

{{/*
The failurePolicy of the webhooks that deny changes while the webhook is down. With `auto`, it becomes Fail. If `certs
manage` can set Fail when the webhook is ready, an installation starts with Ignore, so that it blocks nobody. Fail never
changes back to Ignore, not even during an outage. The value is computed once, because all objects must agree if the
webhook becomes ready meanwhile.
*/}}
{{- define "ack-role-resolver.failurePolicy" -}}
{{- if not (hasKey .Values "computedFailurePolicy") }}
  {{- $_ := set .Values "computedFailurePolicy" (include "ack-role-resolver.lookupFailurePolicy" .) }}
{{- end }}
{{- .Values.computedFailurePolicy }}
{{- end }}

{{- define "ack-role-resolver.lookupFailurePolicy" -}}
{{- $policy := .Values.webhookConfigurations.failurePolicy }}
{{- if eq $policy "auto" }}
  {{- $policy = (include "ack-role-resolver.profile" . | fromJson).failurePolicy }}
  {{- if and (eq $policy "Fail") (include "ack-role-resolver.cluster" .) (eq (include "ack-role-resolver.certificates" .) "self-signed") }}
    {{- $policy = "Ignore" }}
    {{- $stored := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "ack-role-resolver" }}
    {{- range dig "webhooks" list $stored }}
      {{- /* The failurePolicy of the webhooks for Pods is another one. */}}
      {{- if and (hasPrefix "iamroleselectors." .name) (eq .failurePolicy "Fail") }}{{ $policy = "Fail" }}{{ end }}
    {{- end }}
  {{- end }}
{{- end }}
{{- $policy }}
{{- end }}

{{/* Not empty if `certs manage` sets the failurePolicy Fail when the webhook is ready (certs/rotation/configuration-publisher.ts). */}}
{{- define "ack-role-resolver.becomesFail" -}}
{{- $isAuto := eq .Values.webhookConfigurations.failurePolicy "auto" }}
{{- $fails := eq (include "ack-role-resolver.profile" . | fromJson).failurePolicy "Fail" }}
{{- if and $isAuto $fails (eq (include "ack-role-resolver.failurePolicy" .) "Ignore") }}true{{ end }}
{{- end }}

{{/* The failurePolicy of the webhooks for resources, clusters and Namespaces. */}}
{{- define "ack-role-resolver.otherFailurePolicy" -}}
{{- $isFail := eq (include "ack-role-resolver.profile" . | fromJson).otherFailurePolicy "Fail" }}
{{- if $isFail }}{{ include "ack-role-resolver.failurePolicy" . }}{{ else }}Ignore{{ end }}
{{- end }}

{{/* The failurePolicy of the webhooks for Pods. With Ignore, a controller could start without its sidecar. */}}
{{- define "ack-role-resolver.podFailurePolicy" -}}
{{- $isFail := eq (include "ack-role-resolver.profile" . | fromJson).failurePolicy "Fail" }}
{{- if $isFail }}Fail{{ else }}{{ include "ack-role-resolver.failurePolicy" . }}{{ end }}
{{- end }}

{{/* Items for the list of the namespaces whose resources and Pods are not reviewed. */}}
{{- define "ack-role-resolver.excludedNamespaces" -}}
{{- range $index, $namespace := .Values.webhookConfigurations.excludedNamespaces }}
  {{- if $index }}, {{ end }}{{ $namespace | quote }}
{{- end }}
{{- end }}

{{/*
The strategy of the webhook's Deployment. A new replica must be ready before an old replica stops. With `hostNetwork`,
two replicas cannot share a node, so an update on as few nodes as replicas has to stop an old one first.
*/}}
{{- define "ack-role-resolver.updateStrategy" -}}
{{- $surge := .Values.hostNetwork | ternary 0 1 }}
{{- $default := dict "type" "RollingUpdate" "rollingUpdate" (dict "maxSurge" $surge "maxUnavailable" (sub 1 $surge)) }}
{{- toYaml (.Values.updateStrategy | default $default) }}
{{- end }}

{{/* The flags of `settings`, one per line. A boolean flag has no value. */}}
{{- define "ack-role-resolver.settings" -}}
{{- range $name, $value := omit .Values.settings "url" }}
  {{- $flag := printf "--%s" ($name | kebabcase) }}
  {{- if kindIs "bool" $value }}
    {{- if $value }}
- {{ $flag }}
    {{- end }}
  {{- else }}
    {{- range kindIs "slice" $value | ternary $value (list $value) }}
- {{ printf "%s=%v" $flag . | quote }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The user ID of sidecars, none without one, or empty for that of the program. The argument is `injection`. */}}
{{- define "ack-role-resolver.sidecarUser" -}}
{{- $user := kindIs "invalid" .runAsUser | ternary "none" (toString (int64 .runAsUser)) }}
{{- if ne $user "65532" }}{{ $user }}{{ end }}
{{- end }}

{{/*
The data of the ConfigMap from which running sidecars learn the profile, as JSON: the profile, and the flags of
`injection.args` that override it (shared/core/closures.ts).
*/}}
{{- define "ack-role-resolver.sidecarProfile" -}}
{{- $data := dict "profile" .Values.profile }}
{{- range .Values.injection.args }}
  {{- $flag := splitList "=" . | first }}
  {{- if has $flag (list "--profile" "--base" "--unmatched" "--session-scope") }}
    {{- $_ := set $data (trimPrefix "--" $flag) (trimPrefix (printf "%s=" $flag) .) }}
  {{- end }}
{{- end }}
{{- toJson $data }}
{{- end }}

{{/* Not empty if the sidecars of the release may not hand out the controllers' own role. */}}
{{- define "ack-role-resolver.closesSidecars" -}}
{{- $data := include "ack-role-resolver.sidecarProfile" . | fromJson }}
{{- if and .Values.injection.enabled (or (eq $data.profile "strict") (eq ($data.base | default "") "identity-only") (eq ($data.unmatched | default "") "deny")) }}true{{ end }}
{{- end }}

{{/* The Pods of the controllers whose sidecar neither follows the profile nor has the profile strict (AUD-16). */}}
{{- define "ack-role-resolver.deafSidecars" -}}
{{- $names := list }}
{{- range dig "items" list (lookup "v1" "Pod" .Values.ackSystemNamespace "") }}
  {{- $pod := .metadata.name }}
  {{- range concat (.spec.initContainers | default list) .spec.containers }}
    {{- $words := concat (.command | default list) (.args | default list) }}
    {{- $text := printf " %s" (join " " $words) }}
    {{- $isSidecar := or (eq .name "ack-role-resolver") (and (has "sidecar" $words) (contains " --group" $text)) }}
    {{- $isClosed := or (contains " --profile-namespace" $text) (contains " --profile=strict" $text) }}
    {{- if and $isSidecar (not $isClosed) }}{{ $names = append $names $pod }}{{ end }}
  {{- end }}
{{- end }}
{{- join ", " $names }}
{{- end }}

{{/* The ARN of a role in an allowed account and in the partition of the controllers. */}}
{{- define "ack-role-resolver.allowedRole" -}}
{{- $partition := .Values.settings.controllerRole | default "arn:aws" | splitList ":" | rest | first }}
{{- $account := .Values.settings.allowedAccounts | default (list "111122223333") | first }}
{{- printf "arn:%s:iam::%s:role/ack-role-resolver-helm-test" $partition $account }}
{{- end }}
