{{/* Fails with a message if another release is installed. */}}
{{- define "ack-role-resolver.checkOtherRelease" -}}
{{- $stored := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "ack-role-resolver" }}
{{- with dig "metadata" "annotations" dict $stored }}
  {{- $name := index . "meta.helm.sh/release-name" | default $.Release.Name }}
  {{- $namespace := index . "meta.helm.sh/release-namespace" | default $.Release.Namespace }}
  {{- if or (ne $name $.Release.Name) (ne $namespace $.Release.Namespace) }}
    {{- fail (printf "the release %s in the namespace %s has installed ack-role-resolver in this cluster; a cluster can have one installation: upgrade that release, or uninstall it first with `helm uninstall %s --namespace %s`" $name $namespace $name $namespace) }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Fails with a message if the names or the network of the workloads do not fit the cluster. */}}
{{- define "ack-role-resolver.checkInstalled" -}}
{{- $service := include "ack-role-resolver.workload" (list . "webhook") }}
{{- $stored := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "ack-role-resolver" }}
{{- range dig "webhooks" list $stored }}
  {{- $called := dig "clientConfig" "service" "name" $service . }}
  {{- if ne $called $service }}
    {{- fail (printf "fullnameOverride, nameOverride: the installed release has the Service %q, and the certificate that the API server trusts is only valid for its name; keep the names, or uninstall the release and install it again" $called) }}
  {{- end }}
{{- end }}
{{- $deployment := lookup "apps/v1" "Deployment" .Release.Namespace $service }}
{{- $name := include "ack-role-resolver.name" . }}
{{- $selected := dig "spec" "selector" "matchLabels" "app.kubernetes.io/name" $name $deployment }}
{{- if ne $selected $name }}
  {{- fail (printf "nameOverride: must be %q, because the installed Deployment %s selects its Pods by this name and Kubernetes changes no selector; keep the name, or uninstall the release and install it again" $selected $service) }}
{{- end }}
{{- $namespace := lookup "v1" "Namespace" "" .Release.Namespace }}
{{- $enforced := dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "privileged" $namespace }}
{{- if and .Values.hostNetwork (ne $enforced "privileged") }}
  {{- fail (printf "hostNetwork: the namespace %q has the label pod-security.kubernetes.io/enforce: %s, which rejects Pods with hostNetwork; set the label to privileged: kubectl label namespace %s pod-security.kubernetes.io/enforce=privileged --overwrite" .Release.Namespace $enforced .Release.Namespace) }}
{{- end }}
{{- end }}

{{/* Fails with a message if the cluster does not have the kinds of the monitors. */}}
{{- define "ack-role-resolver.checkMonitoring" -}}
{{- with .Values.monitoring }}
  {{- $isMonitored := or .serviceMonitor.enabled .podMonitor.enabled .sidecarPodMonitor.enabled .prometheusRule.enabled }}
  {{- if and $isMonitored (include "ack-role-resolver.cluster" $) (not ($.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) }}
    {{- fail "monitoring: the cluster has no kinds of the Prometheus Operator (monitoring.coreos.com/v1); install the operator first, or disable serviceMonitor, podMonitor, sidecarPodMonitor and prometheusRule" }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Fails with a message if the cluster cannot have this release. */}}
{{- define "ack-role-resolver.checkCluster" -}}
{{- include "ack-role-resolver.checkOtherRelease" . }}
{{- include "ack-role-resolver.checkMonitoring" . }}
{{- if not .Values.webhook.url }}{{ include "ack-role-resolver.checkInstalled" . }}{{ end }}
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
