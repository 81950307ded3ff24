{{- define "berth.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- end }}

{{- /* Rights of a static pod have names of their own, so that a second scheduler can come and go beside it. */ -}}
{{- define "berth.rights" -}}
{{- $name := include "berth.fullname" . }}
{{- if and (eq .Values.mode "staticPod") (not (hasSuffix "-static-pod" $name)) }}{{ $name }}-static-pod{{ else }}{{ $name }}{{ end }}
{{- end }}

{{- define "berth.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "berth.labels" -}}
{{ include "berth.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "berth.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "berth.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ required "serviceAccount.name: name the account to use, or let the chart create one" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- /* In remote mode kube-scheduler has an account of its own: neither may do what only the other needs. */ -}}
{{- define "berth.schedulerServiceAccount" -}}
{{- if eq .Values.mode "remote" }}{{ include "berth.fullname" . }}-kube-scheduler{{ else }}{{ include "berth.serviceAccount" . }}{{ end }}
{{- end }}

{{- define "berth.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
{{- end }}

{{- /* Managed clusters append something of their own to the version. */ -}}
{{- define "berth.schedulerImage" -}}
{{- $version := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version -}}
{{ .Values.kubeScheduler.image.repository }}:{{ default $version .Values.kubeScheduler.image.tag }}
{{- end }}

{{- define "berth.hasTls" -}}
{{- if or .Values.tls.secretName (eq .Values.mode "remote") }}true{{ end }}
{{- end }}

{{- define "berth.configuration" -}}
{{- $server := dict "insecure" true }}
{{- if include "berth.hasTls" . }}
{{- $tls := dict "certFile" "/etc/berth-tls/tls.crt" "keyFile" "/etc/berth-tls/tls.key" }}
{{- if eq .Values.mode "remote" }}{{ $_ := set $tls "clientCAFile" "/etc/berth-tls/ca.crt" }}{{ end }}
{{- $server = dict "tls" $tls }}
{{- end }}
{{- $fixed := dict "apiVersion" "config.berth.dev/v1alpha1" "kind" "BerthConfiguration" "server" $server }}
{{- if .Values.groupServices.enabled }}{{ $_ := set $fixed "replicaGroups" (dict "services" (dict "enabled" true)) }}{{ end }}
{{- toYaml (merge $fixed (deepCopy .Values.config)) }}
{{- end }}

{{- /* Whether there is a kube-scheduler of the chart. */ -}}
{{- define "berth.runsScheduler" -}}
{{- if or (eq .Values.mode "secondScheduler") (and (eq .Values.mode "remote") .Values.kubeScheduler.enabled) }}true{{ end }}
{{- end }}

{{- /* A duration such as 500ms, 4s or 1m30s. */ -}}
{{- define "berth.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 }}
{{- $all := 0 }}
{{- range regexFindAll "[0-9]+(ms|s|m|h)" . -1 }}
{{- $all = add $all (mul (regexFind "^[0-9]+" . | atoi) (get $units (regexFind "[a-z]+$" .))) }}
{{- end }}
{{- $all }}
{{- end }}

{{- /* Fails if a list of arguments repeats one that the chart gives. */ -}}
{{- define "berth.refuseArgument" -}}
{{- $value := index . 0 }}{{ $name := index . 1 }}
{{- range index . 2 }}
{{- if regexMatch (printf "^--?%s(=.*)?$" $name) . }}
{{- fail (printf "%s: --%s is given by the chart" $value $name) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "berth.placement" -}}
{{- $root := index . 0 }}{{ $component := index . 1 -}}
schedulerName: {{ $root.Values.podSchedulerName }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
automountServiceAccountToken: true
terminationGracePeriodSeconds: {{ $root.Values.terminationGracePeriodSeconds }}
securityContext: {{ toYaml $root.Values.podSecurityContext | nindent 2 }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- if $root.Values.topologySpreadConstraints }}
{{- toYaml $root.Values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "berth.selectorLabels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ $component }}
{{- end }}
{{- end }}
{{- end }}
