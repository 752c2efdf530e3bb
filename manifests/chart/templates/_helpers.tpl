{{- define "ack-role-resolver.labels" -}}
{{ include "ack-role-resolver.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "ack-role-resolver.selectorLabels" -}}
app.kubernetes.io/name: ack-role-resolver
app.kubernetes.io/component: webhook
{{- end }}

{{/* The labels of the Deployment that maintains the certificates. */}}
{{- define "ack-role-resolver.certificatesLabels" -}}
{{ include "ack-role-resolver.certificatesSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "ack-role-resolver.certificatesSelectorLabels" -}}
app.kubernetes.io/name: ack-role-resolver
app.kubernetes.io/component: certificates
{{- end }}

{{/* Where the certificate of the webhook comes from: `certificates.mode`, or "outside" for a webhook outside the cluster. */}}
{{- define "ack-role-resolver.certificates" -}}
{{- if .Values.webhook.url }}outside{{ else }}{{ .Values.certificates.mode }}{{ end }}
{{- end }}

{{/* How the API server calls the path of the webhook, as JSON. The argument is a list of the root and the path. */}}
{{- define "ack-role-resolver.clientConfig" -}}
{{- $path := last . }}
{{- with first . }}
  {{- $service := dict "namespace" .Release.Namespace "name" "ack-role-resolver-webhook" "path" $path "port" 443 }}
  {{- $config := dict "service" $service }}
  {{- with .Values.webhook.url }}{{ $config = dict "url" (printf "%s%s" (trimSuffix "/" .) $path) }}{{ end }}
  {{- $source := include "ack-role-resolver.certificates" . }}
  {{- if eq $source "files" }}{{ $_ := set $config "caBundle" (b64enc .Values.certificates.caBundle) }}{{ end }}
  {{- if eq $source "outside" }}{{ $_ := set $config "caBundle" (b64enc .Values.webhook.caBundle) }}{{ end }}
  {{- toJson $config }}
{{- end }}
{{- end }}

{{/* The name of the Secret of the certificate. */}}
{{- define "ack-role-resolver.certificate" -}}
{{- if eq .Values.certificates.mode "files" }}{{ .Values.certificates.secretName }}
{{- else }}ack-role-resolver-webhook-tls
{{- end }}
{{- end }}

{{- define "ack-role-resolver.image" -}}
{{- with .Values.image -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* Not empty if Helm renders the chart for a cluster. Empty for `helm template`, whose lookups find nothing. */}}
{{- define "ack-role-resolver.cluster" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" }}true{{ end }}
{{- end }}

{{/*
The failurePolicy of the webhooks that deny changes while the webhook is down. With `auto`, an installation starts with
Ignore, because no replica is available yet. Fail never changes back to Ignore, not even during an outage. A webhook
outside the cluster runs before the chart is installed, so `auto` is Fail. The value is computed once, because the policies and the webhook configurations must agree if a replica becomes available meanwhile.
*/}}
{{- define "ack-role-resolver.failurePolicy" -}}
{{- if not (hasKey .Values "computedFailurePolicy") }}
  {{- $_ := set .Values "computedFailurePolicy" (include "ack-role-resolver.lookupFailurePolicy" .) }}
{{- end }}
{{- .Values.computedFailurePolicy }}
{{- end }}

{{- define "ack-role-resolver.lookupFailurePolicy" -}}
{{- $policy := .Values.webhookConfigurations.failurePolicy }}
{{- if and (eq $policy "auto") (eq (include "ack-role-resolver.profile" . | fromJson).failurePolicy "Ignore") }}
  {{- $policy = "Ignore" }}
{{- end }}
{{- if and (eq $policy "auto") (include "ack-role-resolver.cluster" .) (not .Values.webhook.url) }}
  {{- $policy = "Ignore" }}
  {{- $deployment := lookup "apps/v1" "Deployment" .Release.Namespace "ack-role-resolver-webhook" }}
  {{- if gt (dig "status" "availableReplicas" 0 $deployment | int) 0 }}{{ $policy = "Fail" }}{{ end }}
  {{- $stored := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "ack-role-resolver" }}
  {{- range dig "webhooks" list $stored }}
    {{- /* The failurePolicy of the webhooks for Pods is another one. */}}
    {{- if and (hasPrefix "iamroleselectors." .name) (eq .failurePolicy "Fail") }}{{ $policy = "Fail" }}{{ end }}
  {{- end }}
{{- end }}
{{- $policy | replace "auto" "Fail" }}
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

{{/* The flags of `settings`, one per line. A boolean flag has no value. */}}
{{- define "ack-role-resolver.settings" -}}
{{- range $name, $value := .Values.settings }}
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

{{/* The ARN of a role in an allowed account and in the partition of the controllers. */}}
{{- define "ack-role-resolver.allowedRole" -}}
{{- $partition := .Values.settings.controllerRole | default "arn:aws" | splitList ":" | rest | first }}
{{- $account := .Values.settings.allowedAccounts | default (list "111122223333") | first }}
{{- printf "arn:%s:iam::%s:role/ack-role-resolver-helm-test" $partition $account }}
{{- end }}
