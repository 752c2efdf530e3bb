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
{{- $profile := "enforce" }}
{{- $deployment := lookup "apps/v1" "Deployment" .Release.Namespace "ack-role-resolver-webhook" }}
{{- range dig "spec" "template" "spec" "containers" list $deployment }}
  {{- range .args }}
    {{- if hasPrefix "--check=" . }}{{ $checks = append $checks (trimPrefix "--check=" .) }}{{ end }}
    {{- if hasPrefix "--profile=" . }}{{ $profile = trimPrefix "--profile=" . }}{{ end }}
  {{- end }}
{{- end }}
{{- include "ack-role-resolver.accessChecks" (dict "Values" (dict "profile" $profile "settings" (dict "check" $checks))) }}
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
{{- if and .Values.injection.enabled (eq .Values.ackSystemNamespace .Release.Namespace) }}
  {{- fail (printf "injection.enabled: must be false in the namespace %q of the ACK controllers, because the webhook injects no sidecar in its own namespace; install the chart in another namespace" .Release.Namespace) }}
{{- end }}
{{- with ((.Values.resources | default dict).limits | default dict).memory }}
  {{- $limit := include "ack-role-resolver.mebibytes" . }}
  {{- if and $limit (ge (float64 $.Values.heapMiB) (float64 $limit)) }}
    {{- fail (printf "heapMiB: must be below the %v of resources.limits.memory, because request bodies, code and stacks are outside of the heap; set heapMiB to about half of the limit" .) }}
  {{- end }}
{{- end }}
{{- if eq .Values.identitySecretNamespace .Release.Namespace }}
  {{- fail (printf "identitySecretNamespace: must be another namespace than %q, because the webhook could then read the key of its CA; install the chart in another namespace" .Release.Namespace) }}
{{- end }}
{{- end }}

{{/* Fails with a message if the cluster cannot have this release. */}}
{{- define "ack-role-resolver.checkCluster" -}}
{{- $stored := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "ack-role-resolver" }}
{{- with dig "metadata" "annotations" dict $stored }}
  {{- $name := index . "meta.helm.sh/release-name" | default $.Release.Name }}
  {{- $namespace := index . "meta.helm.sh/release-namespace" | default $.Release.Namespace }}
  {{- if or (ne $name $.Release.Name) (ne $namespace $.Release.Namespace) }}
    {{- fail (printf "the release %s in the namespace %s has installed ack-role-resolver in this cluster; a cluster can have one installation: upgrade that release, or uninstall it first with `helm uninstall %s --namespace %s`" $name $namespace $name $namespace) }}
  {{- end }}
{{- end }}
{{- if and (include "ack-role-resolver.cluster" .) (not (lookup "v1" "Namespace" "" .Values.ackSystemNamespace)) }}
  {{- fail (printf "ackSystemNamespace: the namespace %q does not exist; set ackSystemNamespace to the namespace of the ACK controllers, or create the namespace if no controller runs in the cluster" .Values.ackSystemNamespace) }}
{{- end }}
{{- if eq (toString .Values.accessReviews) "false" }}
  {{- with include "ack-role-resolver.installedAccessChecks" . }}
    {{- fail (printf "accessReviews: must be true, because the installed release has %s; first turn this off in a separate upgrade" .) }}
  {{- end }}
{{- end }}
{{- if eq (include "ack-role-resolver.certificates" .) "files" }}
  {{- $secret := lookup "v1" "Secret" .Release.Namespace .Values.certificates.secretName }}
  {{- if dig "metadata" "annotations" "meta.helm.sh/release-name" "" $secret }}
    {{- fail (printf "certificates.secretName: the release owns the Secret %q, and deletes it if certificates.mode is files; store the certificate in a Secret with another name" .Values.certificates.secretName) }}
  {{- end }}
{{- end }}
{{- end }}
