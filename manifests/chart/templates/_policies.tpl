{{/* The severities by check in the profile and in `settings.check`, as a JSON object. The last one applies. */}}
{{- define "ack-role-resolver.severities" -}}
{{- $severities := (include "ack-role-resolver.profile" . | fromJson).severities }}
{{- range .Values.settings.check }}
  {{- $_ := set $severities (splitList "=" . | first) (splitList "=" . | last) }}
{{- end }}
{{- $severities | toRawJson }}
{{- end }}

{{/* A CEL list of strings. */}}
{{- define "ack-role-resolver.celList" -}}
[{{ range $index, $text := . }}{{ if $index }}, {{ end }}{{ $text | toRawJson }}{{ end }}]
{{- end }}

{{/* The CEL lists of the policies that depend on `settings`, as a JSON object. */}}
{{- define "ack-role-resolver.policyLists" -}}
{{- $disabledChecks := list }}
{{- range $id, $severity := include "ack-role-resolver.severities" . | fromJson }}
  {{- if ne $severity "deny" }}{{ $disabledChecks = append $disabledChecks $id }}{{ end }}
{{- end }}

{{- $allowedPartitions := list }}
{{- with .Values.settings.controllerRole }}
  {{- $allowedPartitions = list (splitList ":" . | rest | first) }}
{{- end }}

{{- $serviceAccounts := list }}
{{- /* A pattern for each user, in which * stands for any text. */}}
{{- $users := list }}
{{- range .Values.settings.controllerUsers }}
  {{- if regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$" . }}
    {{- $serviceAccounts = append $serviceAccounts (printf "system:serviceaccount:%s" (replace "/" ":" .)) }}
  {{- else }}
    {{- $users = append $users (printf "(?s)^%s$" (regexQuoteMeta . | replace "\\*" ".*")) }}
  {{- end }}
{{- end }}

{{- $capaAccounts := list }}
{{- range .Values.settings.capaServiceAccounts | default (list "capa-system/capa-controller-manager") }}
  {{- $capaAccounts = append $capaAccounts (printf "system:serviceaccount:%s" (replace "/" ":" .)) }}
{{- end }}

{{- $hosts := list }}
{{- range .Values.settings.allowedEndpointHosts }}
  {{- range splitList "," . }}
    {{- $hosts = append $hosts (trim . | regexQuoteMeta) }}
  {{- end }}
{{- end }}

{{- dict
  "disabledChecks" (include "ack-role-resolver.celList" $disabledChecks)
  "waiverUsers" (include "ack-role-resolver.celList" .Values.settings.waiverUsers)
  "waiverGroups" (include "ack-role-resolver.celList" (.Values.settings.waiverGroups | default (list "system:masters")))
  "allowedAccounts" (include "ack-role-resolver.celList" .Values.settings.allowedAccounts)
  "allowedPartitions" (include "ack-role-resolver.celList" $allowedPartitions)
  "controllerServiceAccounts" (include "ack-role-resolver.celList" $serviceAccounts)
  "controllerUsers" (include "ack-role-resolver.celList" $users)
  "capaServiceAccounts" (include "ack-role-resolver.celList" $capaAccounts)
  "allowedHosts" (include "ack-role-resolver.celList" $hosts)
  | toRawJson }}
{{- end }}
