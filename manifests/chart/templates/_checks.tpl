{{/* The checks that are on and need access reviews, such as ACK-09=deny. */}}
{{- define "ack-role-resolver.accessChecks" -}}
{{- $found := list }}
{{- range list "ACK-09" "NS-02" "AC-05" }}
  {{- $severity := index (include "ack-role-resolver.severities" $ | fromJson) . | default "off" }}
  {{- if ne $severity "off" }}{{ $found = append $found (printf "%s=%s" . $severity) }}{{ end }}
{{- end }}
{{- join ", " $found }}
{{- end }}

{{/* The same checks of the installed release. */}}
{{- define "ack-role-resolver.installedAccessChecks" -}}
{{- $checks := list }}
{{- range include "ack-role-resolver.installedArgs" . | fromJsonArray }}
  {{- if hasPrefix "--check=" . }}{{ $checks = append $checks (trimPrefix "--check=" .) }}{{ end }}
{{- end }}
{{- $profile := include "ack-role-resolver.installedProfile" . | default "enforce" }}
{{- include "ack-role-resolver.accessChecks" (dict "Values" (dict "profile" $profile "settings" (dict "check" $checks))) }}
{{- end }}

{{/* The profile of the installed release; empty if none is installed. */}}
{{- define "ack-role-resolver.installedProfile" -}}
{{- $profile := "" }}
{{- range include "ack-role-resolver.installedArgs" . | fromJsonArray }}
  {{- if hasPrefix "--profile=" . }}{{ $profile = trimPrefix "--profile=" . }}{{ end }}
{{- end }}
{{- $profile }}
{{- end }}

{{/* The arguments of the installed webhook, as JSON. */}}
{{- define "ack-role-resolver.installedArgs" -}}
{{- $args := list }}
{{- $deployment := lookup "apps/v1" "Deployment" .Release.Namespace (include "ack-role-resolver.workload" (list . "webhook")) }}
{{- range dig "spec" "template" "spec" "containers" list $deployment }}{{ $args = concat $args (.args | default list) }}{{ end }}
{{- toJson $args }}
{{- end }}

{{/* Not empty if the webhook may create SubjectAccessReviews: also while replicas of the installed release need them. */}}
{{- define "ack-role-resolver.accessReviews" -}}
{{- if kindIs "bool" .Values.accessReviews }}
  {{- if .Values.accessReviews }}true{{ end }}
{{- else }}
  {{- include "ack-role-resolver.accessChecks" . }}{{ include "ack-role-resolver.installedAccessChecks" . }}
{{- end }}
{{- end }}

{{/* The number of MiB in a quantity of Kubernetes, such as 384Mi; empty for a quantity with another suffix. */}}
{{- define "ack-role-resolver.mebibytes" -}}
{{- $bytes := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- $suffix := regexFind "[A-Za-z]*$" (toString .) }}
{{- if hasKey $bytes $suffix }}
  {{- divf (mulf (trimSuffix $suffix (toString .)) (index $bytes $suffix)) 1048576 }}
{{- end }}
{{- end }}

{{/* Fails with a message if a value requires another value. values.schema.json checks each value on its own. */}}
{{- define "ack-role-resolver.checkValues" -}}
{{- if eq (toString .Values.accessReviews) "false" }}
  {{- with include "ack-role-resolver.accessChecks" . }}
    {{- fail (printf "accessReviews: must be true, because the profile or settings.check sets %s; to set it to false, first turn this off in a separate upgrade" .) }}
  {{- end }}
{{- end }}
{{- if and .Values.autoControllerIdentity.enabled (not .Values.reconciling) }}
  {{- fail "reconciling: must be true, because autoControllerIdentity.enabled is true" }}
{{- end }}
{{- if not .Values.capa.enabled }}
  {{- $of := pick .Values "identityRoles" "identitySecretNamespace" "serviceAccountIdentityCRD" }}
  {{- range $name, $value := set $of "autoControllerIdentity.enabled" .Values.autoControllerIdentity.enabled }}
    {{- if $value }}
      {{- fail (printf "capa.enabled: must be true, because %s is set; to leave Cluster API out, remove %s" $name $name) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- if and .Values.injection.enabled (eq .Values.ackSystemNamespace .Release.Namespace) }}
  {{- fail (printf "injection.enabled: must be false in the namespace %q of the ACK controllers, because the webhook injects no sidecar in its own namespace; install the chart in another namespace" .Release.Namespace) }}
{{- end }}
{{- with ((.Values.resources | default dict).limits | default dict).memory }}
  {{- $limit := include "ack-role-resolver.mebibytes" . }}
  {{- if and $limit (ge (float64 $.Values.heapMiB) (float64 $limit)) }}
    {{- fail (printf "heapMiB: must be below the %v of resources.limits.memory, because request bodies, code and stacks are outside of the heap; set heapMiB to about half of the limit" .) }}
  {{- end }}
{{- end }}
{{- include "ack-role-resolver.checkWorkload" . }}
{{- include "ack-role-resolver.checkExclusions" . }}
{{- if eq .Values.identitySecretNamespace .Release.Namespace }}
  {{- fail (printf "identitySecretNamespace: must be another namespace than %q, because the webhook could then read the key of its CA; install the chart in another namespace" .Release.Namespace) }}
{{- end }}
{{- end }}

{{/* The same for the values of the workloads. */}}
{{- define "ack-role-resolver.checkWorkload" -}}
{{- with .Values.ports }}
  {{- if eq (int .webhook) (int .health) }}
    {{- fail (printf "ports.health: must differ from ports.webhook, which is %d too; choose another free port" (int .webhook)) }}
  {{- end }}
{{- end }}
{{- with .Values.serviceAccount }}
  {{- if not (or .create .name) }}
    {{- fail "serviceAccount.name: must name an existing service account, because serviceAccount.create is false" }}
  {{- end }}
  {{- if has .name (list "default" "ack-role-resolver-certificates") }}
    {{- fail (printf "serviceAccount.name: must not be %q, because other Pods use this account and would share the rights of the webhook; choose an account that only the webhook has" .name) }}
  {{- end }}
{{- end }}
{{- with .Values.certificates }}
  {{- if and (eq .mode "files") (has .secretName (list "ack-role-resolver-webhook-cert-manager" "ack-role-resolver-webhook-ca")) }}
    {{- fail (printf "certificates.secretName: must not be %q, because an upgrade deletes the Secrets of the mode cert-manager; copy the certificate to a Secret with another name" .secretName) }}
  {{- end }}
{{- end }}
{{- with .Values.podDisruptionBudget }}
  {{- if not (or (kindIs "invalid" .minAvailable) (kindIs "invalid" .maxUnavailable)) }}
    {{- fail "podDisruptionBudget: set minAvailable or maxUnavailable, but not both, because Kubernetes accepts only one; set the other one to null" }}
  {{- end }}
{{- end }}
{{- with .Values.monitoring }}
  {{- if and .serviceMonitor.enabled .podMonitor.enabled }}
    {{- fail "monitoring: enable serviceMonitor or podMonitor, but not both, because Prometheus would scrape each Pod twice" }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The same for webhookConfigurations.excludedNamespaces. */}}
{{- define "ack-role-resolver.checkExclusions" -}}
{{- with .Values.webhookConfigurations.excludedNamespaces }}
  {{- if has $.Values.ackSystemNamespace . }}
    {{- fail (printf "webhookConfigurations.excludedNamespaces: must not contain %q, the namespace of the ACK controllers, because they would start without a sidecar" $.Values.ackSystemNamespace) }}
  {{- end }}
  {{- if not $.Values.policies.enabled }}
    {{- fail "policies.enabled: must be true, because webhookConfigurations.excludedNamespaces is set, and without the policies nothing would check the resources in these namespaces" }}
  {{- end }}
{{- end }}
{{- end }}
