{{- define "dns.kube2sky.args" -}}
- --domain={{ .Values.clusterDomain }}
- --etcd-server={{ include "dns.etcd.endpoints" . }}
{{- if ne .Values.etcd.mode "pod" }}
- --etcd-cafile=/etc/etcd-tls/ca.crt
- --etcd-certfile=/etc/etcd-tls/tls.crt
- --etcd-keyfile=/etc/etcd-tls/tls.key
{{- with .Values.etcd.usernames.kube2sky }}
- --etcd-username={{ . }}
- --etcd-password-file=/etc/etcd-tls/password
{{- end }}
- --leader-elect
{{- end }}
{{- with .Values.kube2sky.configMap }}
# Stub domains, nameservers and records; a kube-dns that ran here before may have left it.
- --config-map={{ . }}
{{- end }}
- --endpoints={{ .Values.kube2sky.endpoints }}
{{- with .Values.externalZone.zone }}
- --external-zone={{ . }}
{{- end }}
{{- if .Values.externalZone.headless }}
- --external-zone-headless
{{- end }}
{{- if .Values.externalZone.public }}
- --external-zone-public
{{- end }}
{{- if eq .Values.pods "insecure" }}
# Like kube-dns: pod names are answered from the query (-pods=insecure below), and no pod is watched.
{{- else if .Values.autopath }}
# The pods' addresses, by which skydns knows its clients.
{{- end }}
- --pods={{ ternary "verified" "disabled" (eq .Values.pods "verified") }}
{{- if and .Values.autopath (not .Values.kube2sky.extraFlags) }}
# With -visibility=own below: namespaces whose annotation dns.kube2sky/visible-to shows them to others.
# - --namespace-visibility
{{- end }}
- --healthz-port=8081
{{- range .Values.kube2sky.extraFlags }}
- {{ toJson . }}
{{- end }}
{{- end -}}

{{/* {flag: [values]} of its command line; the last one counts where one is enough. */}}
{{- define "dns.kube2sky.flags" -}}
{{- $flags := dict -}}
{{- range (include "dns.kube2sky.args" . | fromYamlArray) -}}
{{- $parts := regexSplit "=" . 2 -}}
{{- $name := first $parts | trimPrefix "-" | trimPrefix "-" | replace "_" "-" -}}
{{- $value := ternary (last $parts) "true" (gt (len $parts) 1) -}}
{{- $_ := set $flags $name (append (get $flags $name | default list) $value) -}}
{{- end -}}
{{- toJson $flags -}}
{{- end -}}

{{/* Whether a flag without a value is on: dict "flags" "of". */}}
{{- define "dns.isOn" -}}
{{- with get .flags .of }}{{ if not (has (last .) (list "0" "f" "F" "false" "FALSE" "False")) }}true{{ end }}{{ end -}}
{{- end -}}

{{- define "dns.kube2sky.container" -}}
- name: kube2sky
{{- include "dns.imageLines" (dict "root" . "of" "kube2sky") | nindent 2 }}
  args:
{{- include "dns.kube2sky.args" . | nindent 2 }}
  ports:
  - name: kube2sky-http
    containerPort: 8081
    protocol: TCP
{{- if eq .Values.etcd.mode "pod" }}
  # 200 once everything is in etcd, so that no pod without records joins the Service.
{{- end }}
  readinessProbe:
    httpGet:
      path: /readiness
      port: kube2sky-http
    periodSeconds: 2
    timeoutSeconds: 5
  livenessProbe:
    httpGet:
      path: /healthz
      port: kube2sky-http
    initialDelaySeconds: 60
    timeoutSeconds: 5
    failureThreshold: 5
{{- if eq .Values.etcd.mode "pod" }}
{{- include "dns.resources" (dict "cpu" "10m" "memory" "20Mi" "limit" "150Mi" "own" .Values.kube2sky.resources) | nindent 2 }}
{{- else }}
  # Those of kube-dns.yaml, plus 1.5 KB per Pod.
{{- include "dns.resources" (dict "cpu" "10m" "memory" "32Mi" "limit" "250Mi" "own" .Values.kube2sky.resources) | nindent 2 }}
{{- end }}
{{- include "dns.confined" . | nindent 2 }}
  volumeMounts:
{{- if eq .Values.etcd.mode "pod" }}
  - name: kube-api-access
    mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    readOnly: true
{{- else }}
  - name: etcd-tls
    mountPath: /etc/etcd-tls
    readOnly: true
{{- end }}
{{- end -}}
