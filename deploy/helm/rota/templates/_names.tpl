{{- define "rota.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "rota.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rota.labels" -}}
{{ include "rota.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "rota.account" -}}
{{- if .Values.serviceAccount.name }}{{ .Values.serviceAccount.name }}{{ else if .Values.serviceAccount.create }}{{ include "rota.name" . }}{{ else }}default{{ end -}}
{{- end }}

{{- define "rota.tasks" -}}
{{- if .Values.tasksConfigMap }}{{ .Values.tasksConfigMap }}{{ else }}{{ include "rota.name" . }}-tasks{{ end -}}
{{- end }}

{{/* open is "yes" where the API is for the network. */}}
{{- define "rota.open" -}}
{{- if and .Values.api.tlsSecret .Values.api.tokenSecret.name }}yes{{ else if or .Values.api.tlsSecret .Values.api.tokenSecret.name -}}
{{ fail "api: beyond loopback both tlsSecret and tokenSecret.name are needed" }}
{{- else if .Values.api.usersSecret.name -}}
{{ fail "api.usersSecret: tlsSecret and tokenSecret.name are needed besides, the token for probes" }}
{{- end -}}
{{- end }}

{{/* health is how a probe asks the member: an image without a shell has no other client. */}}
{{- define "rota.health" -}}
- /usr/bin/rota
- health
{{- if eq (include "rota.open" .) "yes" }}
- --tls-cert=/etc/rota/tls/tls.crt
- --api-token=file:/etc/rota/token/token
- https://127.0.0.1:{{ .Values.api.port }}
{{- else }}
- http://127.0.0.1:{{ .Values.api.port }}
{{- end }}
{{- end }}
