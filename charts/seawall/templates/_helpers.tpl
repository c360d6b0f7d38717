{{- define "seawall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* 50 characters leave room for the suffixes "-metrics" and "-leader". */}}
{{- define "seawall.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "seawall.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "seawall.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* For objects outside the release's namespace, where releases of one name in two namespaces would collide. */}}
{{- define "seawall.scopedName" -}}
{{- printf "%s-%s" (include "seawall.fullname" .) .Release.Namespace }}
{{- end }}

{{- /* The account `default` would do, and give every pod of the namespace what the operator may. */}}
{{- define "seawall.serviceAccountName" -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- fail "serviceAccount.name: with create: false name the account that is there for the operator alone" }}
{{- end }}
{{- .Values.serviceAccount.name | default (include "seawall.fullname" .) }}
{{- end }}

{{- define "seawall.selectorLabels" -}}
app.kubernetes.io/name: {{ include "seawall.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "seawall.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "seawall.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: seawall
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "seawall.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- /* Ports of Kafka, as a JSON list: those of the values, and the one at which the operator asks a Kafka that it runs. */}}
{{- define "seawall.kafkaPorts" -}}
{{- $ports := list }}
{{- range .Values.networkPolicy.kafkaPorts }}
{{- $ports = append $ports (int .) }}
{{- end }}
{{- if .Values.managedKafka.enabled }}
{{- $ports = append $ports 9091 }}
{{- end }}
{{- $ports | uniq | toJson }}
{{- end }}

{{- /* The namespaces to serve, as a JSON list; an empty list means all. */}}
{{- define "seawall.namespaces" -}}
{{- if .Values.scope.cluster }}
{{- if .Values.scope.namespaces }}
{{- fail "scope.cluster: true serves every namespace: leave scope.namespaces empty, or set scope.cluster: false" }}
{{- end }}
{{- list | toJson }}
{{- else }}
{{- .Values.scope.namespaces | default (list .Release.Namespace) | toJson }}
{{- end }}
{{- end }}

{{- /* How metrics are scraped. Each process makes its certificate, which nobody has to trust. */}}
{{- define "seawall.scrape" -}}
scheme: {{ ternary "https" "http" .Values.metrics.secure }}
{{- if .Values.metrics.secure }}
tlsConfig:
  insecureSkipVerify: true
{{- with .Values.metrics.tokenSecret }}
{{- if .name }}
authorization:
  credentials:
    name: {{ .name }}
    key: {{ .key }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Whether a counter went up within half an hour. Of one that begins with its first event, as a new pod's does,
       increase() sees nothing: it is one above 0 that was not there before. Prometheus may have been away for hours. */}}
{{- define "seawall.counted" -}}
increase({{ . }}[30m]) > 0
or ({{ . }} > 0 unless count_over_time({{ . }}[6h] offset 30m))
{{- end }}
