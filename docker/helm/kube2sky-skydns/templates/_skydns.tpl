{{/* The flags that say where skydns reads, whatever it listens on. */}}
{{- define "dns.skydns.source" -}}
- -machines={{ include "dns.machines" . }}
{{- if ne .Values.etcd.mode "pod" }}
- -ca-cert=/etc/etcd-tls/ca.crt
- -tls-pem=/etc/etcd-tls/tls.crt
- -tls-key=/etc/etcd-tls/tls.key
{{- with .Values.etcd.usernames.skydns }}
- -username={{ . }}
- -password-file=/etc/etcd-tls/password
{{- end }}
{{- end }}
{{- end -}}

{{/* The flags of skydns.files: dict "root" . "isServing" true for those of the TLS listeners, false for all others. A hosts
     file has a flag each; the files of the others are a list. */}}
{{- define "dns.skydns.fileFlags" -}}
{{- $isServing := .isServing -}}
{{- range .root.Values.skydns.files -}}
{{- if eq $isServing (has .flag (list "client-ca" "tls-ticket-keys")) }}
{{- $folder := printf "/etc/skydns/files/%s/%s/" .flag (.secret | default .configMap) -}}
{{- $paths := list -}}
{{- range .keys }}{{ $paths = append $paths (print $folder .) }}{{ end -}}
{{- if ne .flag "hosts" }}{{ $paths = list (join "," $paths) }}{{ end -}}
{{- $flag := .flag -}}
{{- range $paths }}
- -{{ $flag }}={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The volume of skydns.files: one, so that a certificate and its key change together. */}}
{{- define "dns.skydns.filesVolume" -}}
- name: skydns-files
  projected:
    # Root's, readable by the group of fsGroup.
    defaultMode: 0440
    sources:
{{- range .Values.skydns.files }}
{{- $folder := printf "%s/%s/" .flag (.secret | default .configMap) }}
{{- $endings := ternary (list ".key" ".private") (list "") (eq .flag "dnssec") }}
    - {{ ternary "secret" "configMap" (hasKey . "secret") }}:
        name: {{ .secret | default .configMap }}
        items:
{{- range $key := .keys }}
{{- range $endings }}
        - key: {{ toJson (print $key .) }}
          path: {{ toJson (print $folder $key .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "dns.skydns.filesMount" -}}
- name: skydns-files
  mountPath: /etc/skydns/files
  readOnly: true
{{- end -}}

{{/* The flags that say what it answers. */}}
{{- define "dns.skydns.answers" -}}
{{- $flags := include "dns.kube2sky.flags" . | fromJson }}
{{- $imports := include "dns.isOn" (dict "flags" $flags "of" "multicluster") }}
- -domain={{ .Values.clusterDomain }}.{{ if $imports }},{{ get $flags "multicluster-domain" | default (list "clusterset.local") | last | trimSuffix "." }}.{{ end }}
{{- with .Values.externalZone.zone }}
- -external-zones={{ . }}.
{{- end }}
- -hostmaster=
- -schema={{ .Values.schema }}
- -pods={{ .Values.pods }}
{{- if .Values.autopath }}
# One response for a search list.
- -autopath
{{- if not .Values.skydns.extraFlags }}
# A pod sees its own namespace, and these two.
# - -visibility=own
# - -public-namespaces=default,kube-system
{{- end }}
{{- end }}
# The stub domains that kube2sky writes.
- -stubzones
{{- if .Values.settings.skydns }}
- -config=/etc/skydns/settings/config.json
{{- end }}
{{- with include "dns.skydns.fileFlags" (dict "root" . "isServing" false) | trim }}{{ nindent 0 . }}{{ end }}
# {{ ternary "Only kube2sky" "kube2sky" (eq .Values.etcd.mode "pod") }} fills this etcd: until it has, names that are not there are SERVFAIL, which clients do not cache.
- -require-store-key
{{- end -}}

{{- define "dns.skydns.workers" -}}
{{- .Values.skydns.workers | default (ternary 1 2 (ne (include "dns.isEveryNode" .) "")) -}}
{{- end -}}

{{- define "dns.skydns.container" -}}
- name: skydns
{{- include "dns.imageLines" (dict "root" . "of" "skydns") | nindent 2 }}
  args:
{{- include "dns.skydns.source" . | nindent 2 }}
{{- if .Values.tls.enabled }}
  # [::] where nodes have IPv6; it takes IPv4 too.
  - -addr={{ include "dns.anyAddress" . }}:53,tls://{{ include "dns.anyAddress" . }}:853,https://{{ include "dns.anyAddress" . }}:443
  - -cert=/etc/skydns/tls/tls.crt
  - -key=/etc/skydns/tls/tls.key
{{- with include "dns.skydns.fileFlags" (dict "root" . "isServing" true) | trim }}{{ nindent 2 . }}{{ end }}
{{- else }}
{{- if eq .Values.placement "replicas" }}
  # [::]:53 where nodes have IPv6; it takes IPv4 too.
{{- end }}
  - -addr={{ include "dns.anyAddress" . }}:53
{{- end }}
{{- include "dns.skydns.answers" . | nindent 2 }}
  - -http-addr={{ include "dns.anyAddress" . }}:10055
  # The last records from etcd, to answer from at once when this container restarts.
  - -snapshot=/var/lib/skydns/snapshot
{{- if and (not (include "dns.isEveryNode" .)) (not .Values.skydns.workers) }}
  # Two answer more queries than a cluster sends; the default is one per CPU of the node.
{{- end }}
  - -workers={{ include "dns.skydns.workers" . }}
  # After SIGTERM: longer than every kube-proxy needs to drop this pod.
  - -lameduck={{ .Values.skydns.lameduck }}
{{- range .Values.skydns.extraFlags }}
  - {{ toJson . }}
{{- end }}
  ports:
  - name: dns
    containerPort: 53
    protocol: UDP
  - name: dns-tcp
    containerPort: 53
    protocol: TCP
{{- if .Values.tls.enabled }}
  - name: dns-tls
    containerPort: 853
    protocol: TCP
  - name: dns-https
    containerPort: 443
    protocol: TCP
{{- end }}
  - name: skydns-http
    containerPort: 10055
    protocol: TCP
  readinessProbe:
    httpGet:
      path: /readiness
      port: skydns-http
    periodSeconds: 2
    timeoutSeconds: 5
  # Does not require answers: without etcd at the start there are none, and a restart would not help.
  livenessProbe:
    httpGet:
      path: /healthz
      port: skydns-http
    initialDelaySeconds: 60
    timeoutSeconds: 5
    failureThreshold: 5
{{- if include "dns.isEveryNode" . }}
  # Those of kube-dns.yaml, plus 0.6 KB per Pod's record.
{{- include "dns.resources" (dict "cpu" "50m" "memory" "32Mi" "limit" "250Mi" "own" .Values.skydns.resources) | nindent 2 }}
{{- else }}
{{- include "dns.resources" (dict "cpu" "100m" "memory" "20Mi" "limit" "200Mi" "own" .Values.skydns.resources) | nindent 2 }}
{{- end }}
{{- include "dns.confined" . | nindent 2 }}
  volumeMounts:
{{- if ne .Values.etcd.mode "pod" }}
  - name: etcd-tls
    mountPath: /etc/etcd-tls
    readOnly: true
{{- end }}
  - name: skydns-state
    mountPath: /var/lib/skydns
{{- if .Values.tls.enabled }}
  - name: skydns-tls
    mountPath: /etc/skydns/tls
    readOnly: true
{{- end }}
{{- if .Values.settings.skydns }}
  - name: skydns-settings
    mountPath: /etc/skydns/settings
    readOnly: true
{{- end }}
{{- if .Values.skydns.files }}
{{- include "dns.skydns.filesMount" . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Whether skydns requests certificates of its TLS clients, which exechealthz has none of. */}}
{{- define "dns.asksForCertificates" -}}
{{- range .Values.skydns.files }}{{ if eq .flag "client-ca" }}true{{ end }}{{ end -}}
{{- end -}}

{{- define "dns.healthz.container" -}}
- name: healthz
{{- include "dns.imageLines" (dict "root" . "of" "exechealthz") | nindent 2 }}
  args:
  - -dns=skydns=kubernetes.default.svc.{{ .Values.clusterDomain }},A,127.0.0.1:53
  - -dns=zone={{ .Values.clusterDomain }},SOA,127.0.0.1:53
{{- if and .Values.tls.enabled (not (include "dns.asksForCertificates" .)) }}
  # A new connection each; an expired certificate is a failure.
  - -dns=tls=kubernetes.default.svc.{{ .Values.clusterDomain }},A,tls://127.0.0.1:853
  - -dns=https=kubernetes.default.svc.{{ .Values.clusterDomain }},A,https://127.0.0.1:443
{{- end }}
  - -period=2s
  - -port=10054
  - -quiet
{{- range .Values.exechealthz.extraFlags }}
  - {{ toJson . }}
{{- end }}
  ports:
  - name: healthz-http
    containerPort: 10054
    protocol: TCP
  # End to end, as a client asks. Answers come from memory, so the health of etcd and the API does not matter here.
{{- if .Values.tls.enabled }}
  # Not /healthz, which has tls and https in it: they are for alerts. All pods share a certificate, and when it has
  # expired they must stay in the Service for those who ask over UDP and TCP.
{{- end }}
  readinessProbe:
    httpGet:
      path: {{ ternary "/healthcheck/skydns" "/healthz" .Values.tls.enabled }}
      port: healthz-http
    periodSeconds: 5
    timeoutSeconds: 5
  livenessProbe:
    httpGet:
      path: /metrics
      port: healthz-http
    initialDelaySeconds: 60
    timeoutSeconds: 5
    failureThreshold: 5
{{- include "dns.resources" (dict "cpu" "5m" "memory" "8Mi" "limit" "20Mi" "own" .Values.exechealthz.resources) | nindent 2 }}
{{- include "dns.confined" . | nindent 2 }}
{{- end -}}
