{{/* An image by digest, or by tag: dict "root" . "of" "skydns". */}}
{{- define "dns.image" -}}
{{- $image := index .root.Values.images .of -}}
{{- $tag := $image.tag | default (ternary .root.Values.etcd.version .root.Chart.AppVersion (eq .of "etcd")) -}}
{{- .root.Values.images.registry }}{{ $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $tag }}{{ end -}}
{{- end -}}

{{/* A container's image, with its pull policy. */}}
{{- define "dns.imageLines" -}}
image: {{ include "dns.image" . }}
{{- with .root.Values.images.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end -}}

{{/* Every pod of ours has these: its images' Secrets and its nodes. */}}
{{- define "dns.podLines" -}}
{{- $lines := dict -}}
{{- with .Values.images.pullSecrets }}{{ $_ := set $lines "imagePullSecrets" . }}{{ end -}}
{{- with .Values.nodeSelector }}{{ $_ := set $lines "nodeSelector" . }}{{ end -}}
{{- if $lines }}{{ toYaml $lines }}{{ end -}}
{{- end -}}

{{/* Tolerations beside those of the DNS. */}}
{{- define "dns.moreTolerations" -}}
{{- with .Values.tolerations }}{{ toYaml . }}{{ end }}
{{- end -}}

{{/* dict "root" . "of" "skydns": the label of its pods. */}}
{{- define "dns.spread" -}}
{{- with .root.Values.topologySpread -}}
topologySpreadConstraints:
{{- range . }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      app.kubernetes.io/name: {{ $.of }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "dns.podUser" -}}
runAsNonRoot: true
runAsUser: {{ .Values.user }}
runAsGroup: {{ .Values.user }}
fsGroup: {{ .Values.user }}
seccompProfile:
{{- toYaml .Values.seccompProfile | nindent 2 }}
{{- end -}}

{{- define "dns.confined" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* dict "cpu" "memory" "limit" "own": the values' own resources win. */}}
{{- define "dns.resources" -}}
resources:
{{- if .own }}
{{- toYaml .own | nindent 2 }}
{{- else }}
  requests:
    cpu: {{ .cpu }}
    memory: {{ .memory }}
  limits:
    memory: {{ .limit }}
{{- end }}
{{- end -}}

{{- define "dns.isEveryNode" -}}
{{- if ne .Values.placement "replicas" }}true{{ end -}}
{{- end -}}

{{/* etcd's URLs, for kube2sky and the proxy. */}}
{{- define "dns.etcd.endpoints" -}}
{{- if eq .Values.etcd.mode "pod" -}}
http://127.0.0.1:2379
{{- else if eq .Values.etcd.mode "external" -}}
{{- join "," .Values.etcd.endpoints -}}
{{- else -}}
{{- $urls := list -}}
{{- range .Values.etcd.addresses }}{{ $urls = append $urls (printf "https://%s:2379" (include "dns.urlHost" .)) }}{{ end -}}
{{- join "," $urls -}}
{{- end -}}
{{- end -}}

{{/* The address of a server that pods and kubelets reach; [::] takes IPv4 too, but nodes may have no IPv6. */}}
{{- define "dns.anyAddress" -}}
{{- ternary "[::]" "0.0.0.0" (contains ":" .Values.service.clusterIP) -}}
{{- end -}}

{{- define "dns.urlHost" -}}
{{- if contains ":" . }}[{{ . }}]{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* The URLs that skydns reads from. */}}
{{- define "dns.machines" -}}
{{- if .Values.etcd.proxy.enabled -}}
https://{{ include "dns.urlHost" .Values.etcd.proxy.clusterIP }}:2379
{{- else -}}
{{- include "dns.etcd.endpoints" . -}}
{{- end -}}
{{- end -}}

{{/* A role and its binding to kube2sky: dict "root" . "name" "rules" and, for a Role, "namespace"; "why": comment lines. */}}
{{- define "dns.role" -}}
{{- $kind := ternary "Role" "ClusterRole" (hasKey . "namespace") -}}
{{- with .why }}
{{ . }}
{{- end }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ .name }}
{{- if hasKey . "namespace" }}
  namespace: {{ .namespace }}
{{- end }}
  labels:
    app.kubernetes.io/name: kube2sky
rules:
{{ .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .name }}
{{- if hasKey . "namespace" }}
  namespace: {{ .namespace }}
{{- end }}
  labels:
    app.kubernetes.io/name: kube2sky
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: kube2sky
  namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{/* A rule to list and watch: dict "group" "resources". */}}
{{- define "dns.follows" -}}
- apiGroups: [{{ .group | default "\"\"" }}]
  resources: [{{ join ", " .resources }}]
  verbs: [list, watch]
{{- end -}}
