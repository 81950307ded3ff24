{{- define "berth.container" -}}
{{- $remote := eq .Values.mode "remote" }}
{{- $scheme := ternary "HTTPS" "HTTP" (include "berth.hasTls" . | not | not) -}}
- name: berth
  image: {{ include "berth.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  {{- if not $remote }}
  # A sidecar: kube-scheduler is started when Berth is ready, and stopped before Berth is.
  restartPolicy: Always
  {{- end }}
  args:
    - serve
    - --config=/etc/berth/berth.yaml
    - --listen={{ ternary "0.0.0.0" "127.0.0.1" $remote }}:8888
    - --admin-listen=0.0.0.0:8889
    {{- if .Values.admission.enabled }}
    - --admission-listen=0.0.0.0:8890
    {{- end }}
    - --log-format={{ .Values.logFormat }}
    {{- with .Values.extraArgs }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with .Values.extraEnv }}
  env: {{ toYaml . | nindent 4 }}
  {{- end }}
  ports:
    {{- if $remote }}
    - name: verbs
      containerPort: 8888
    {{- end }}
    - name: admin
      containerPort: 8889
    {{- if .Values.admission.enabled }}
    - name: admission
      containerPort: 8890
    {{- end }}
  startupProbe:
    httpGet: {path: /readyz, port: admin, scheme: {{ $scheme }}}
    periodSeconds: 1
    failureThreshold: 300
  readinessProbe:
    httpGet: {path: /readyz, port: admin, scheme: {{ $scheme }}}
    periodSeconds: 5
  livenessProbe:
    httpGet: {path: /livez, port: admin, scheme: {{ $scheme }}}
    periodSeconds: 10
    timeoutSeconds: 5
  {{- if $remote }}
  # Until every kube-proxy has heard that this pod is leaving, new connections still come here.
  lifecycle:
    preStop:
      sleep: {seconds: 5}
  {{- end }}
  resources: {{ toYaml .Values.resources | nindent 4 }}
  securityContext: {{ toYaml .Values.securityContext | nindent 4 }}
  volumeMounts:
    - {name: berth, mountPath: /etc/berth, readOnly: true}
    {{- if include "berth.hasTls" . }}
    - {name: tls, mountPath: /etc/berth-tls, readOnly: true}
    {{- end }}
    {{- with .Values.extraVolumeMounts }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end }}

{{- define "berth.schedulerContainer" -}}
{{- $remote := eq .Values.mode "remote" }}
{{- $scheme := ternary "HTTPS" "HTTP" (include "berth.hasTls" . | not | not) -}}
- name: kube-scheduler
  image: {{ include "berth.schedulerImage" . }}
  imagePullPolicy: {{ .Values.kubeScheduler.image.pullPolicy }}
  command:
    - kube-scheduler
    - --config=/etc/kube-scheduler/kube-scheduler-config.yaml
    - --bind-address=0.0.0.0
    - --secure-port=10259
    {{- with .Values.kubeScheduler.extraArgs }}{{ toYaml . | nindent 4 }}{{ end }}
  ports:
    - name: scheduler
      containerPort: 10259
  startupProbe:
    httpGet: {path: /livez, port: scheduler, scheme: HTTPS}
    periodSeconds: 1
    failureThreshold: 60
  readinessProbe:
    httpGet: {path: /readyz, port: scheduler, scheme: HTTPS}
    periodSeconds: 5
  livenessProbe:
    {{- if $remote }}
    httpGet: {path: /livez, port: scheduler, scheme: HTTPS}
    {{- else }}
    # A leader whose Berth cannot answer gives its lease to another replica.
    httpGet: {path: /readyz, port: 8889, scheme: {{ $scheme }}}
    {{- end }}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 3
  resources: {{ toYaml .Values.kubeScheduler.resources | nindent 4 }}
  securityContext: {{ toYaml .Values.securityContext | nindent 4 }}
  volumeMounts:
    - {name: kube-scheduler, mountPath: /etc/kube-scheduler, readOnly: true}
    {{- if include "berth.hasTls" . }}
    - {name: {{ ternary "client-tls" "tls" $remote }}, mountPath: /etc/berth-tls, readOnly: true}
    {{- end }}
{{- end }}
