{{- /* The image of a name: registry, name, tag. A name with a digest is taken as it is. */ -}}
{{- define "tephra.image" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- with $root.Values.images.registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- if contains "@" $name }}{{ $name }}{{ else }}{{ $name }}:{{ default $root.Chart.AppVersion $root.Values.images.tag }}{{ end -}}
{{- end -}}

{{- /* The certificate authority of the webhooks. The chart makes one once; it outlives the certificates that it signs. */ -}}
{{- define "tephra.caBundle" -}}
{{- if eq .Values.admission.certificates "given" -}}
{{- required "admission.caBundle: not set, expected with certificates: given" .Values.admission.caBundle -}}
{{- else -}}
{{- include "tephra.certificates" . -}}
{{- .Values.made.authority.Cert | b64enc -}}
{{- end -}}
{{- end -}}

{{- /* Makes .Values.made once: the authority, which the Secret keeps, and a certificate that it signs. */ -}}
{{- define "tephra.certificates" -}}
{{- if not (hasKey .Values "made") -}}
{{- $kept := lookup "v1" "Secret" .Release.Namespace "tephra-admission-authority" -}}
{{- $authority := dict -}}
{{- if and $kept $kept.data -}}
{{- $authority = buildCustomCert (index $kept.data "tls.crt") (index $kept.data "tls.key") -}}
{{- else -}}
{{- $authority = genCA "tephra-admission" 3650 -}}
{{- end -}}
{{- $name := printf "tephra-admission.%s.svc" .Release.Namespace -}}
{{- $certificate := genSignedCert $name nil (list $name) 3650 $authority -}}
{{- $_ := set .Values "made" (dict "authority" $authority "certificate" $certificate) -}}
{{- end -}}
{{- end -}}
