{{- define "berth.schedulerConfiguration" -}}
{{- $remote := eq .Values.mode "remote" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceName: {{ include "berth.fullname" . }}
  resourceNamespace: {{ .Release.Namespace }}
percentageOfNodesToScore: {{ .Values.kubeScheduler.percentageOfNodesToScore }}
profiles:
  - schedulerName: {{ .Values.schedulerName }}
    pluginConfig:
      # Berth does the default spreading, by the rules in its own configuration.
      - name: PodTopologySpread
        args:
          defaultingType: List
          defaultConstraints: []
extenders:
  {{- if $remote }}
  - urlPrefix: https://{{ include "berth.fullname" . }}.{{ .Release.Namespace }}.svc:8888
  {{- else }}
  - urlPrefix: {{ ternary "https" "http" (include "berth.hasTls" . | not | not) }}://127.0.0.1:8888
  {{- end }}
    {{- if include "berth.hasTls" . }}
    enableHTTPS: true
    tlsConfig:
      caFile: /etc/berth-tls/ca.crt
      {{- if $remote }}
      certFile: /etc/berth-tls/tls.crt
      keyFile: /etc/berth-tls/tls.key
      {{- end }}
    {{- end }}
    filterVerb: filter
    prioritizeVerb: prioritize
    preemptVerb: preempt
    bindVerb: bind
    weight: {{ .Values.kubeScheduler.weight }}
    nodeCacheCapable: true
    httpTimeout: {{ .Values.kubeScheduler.httpTimeout }}
    ignorable: {{ .Values.kubeScheduler.ignorable }}
{{- end }}
