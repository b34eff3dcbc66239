{{/* The etcd of a self-contained pod. */}}
{{- define "dns.etcd.container" -}}
- name: etcd
{{- include "dns.imageLines" (dict "root" . "of" "etcd") | nindent 2 }}
  # Any etcd from 3.4 on, from any image. Its content can be rebuilt at any time.
  command:
  - etcd
  - --name=dns
  - --data-dir=/var/etcd/data
  - --listen-client-urls=http://127.0.0.1:2379
  - --advertise-client-urls=http://127.0.0.1:2379
{{- include "dns.etcd.flags" . | nindent 2 }}
{{- include "dns.etcd.metricsPort" . | nindent 2 }}
  livenessProbe:
    httpGet:
      path: /health
      port: etcd-http
    initialDelaySeconds: 10
    timeoutSeconds: 5
    periodSeconds: 10
    failureThreshold: 6
{{- include "dns.resources" (dict "cpu" "50m" "memory" "64Mi" "limit" "500Mi" "own" .Values.etcd.resources) | nindent 2 }}
{{- include "dns.confined" . | nindent 2 }}
  volumeMounts:
  - name: etcd-data
    mountPath: /var/etcd
{{- end -}}

{{- define "dns.etcd.flags" -}}
- --listen-metrics-urls=http://{{ include "dns.anyAddress" . }}:2381
- --quota-backend-bytes=536870912
- --auto-compaction-mode=periodic
- --auto-compaction-retention=10m
- --snapshot-count=10000
{{- range .Values.etcd.extraFlags }}
- {{ toJson . }}
{{- end }}
{{- end -}}

{{- define "dns.etcd.metricsPort" -}}
ports:
- name: etcd-http
  containerPort: 2381
  protocol: TCP
{{- end -}}
