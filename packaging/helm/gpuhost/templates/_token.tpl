{{- /*
Returns "true" if the release has a token, else "". An expired one is refused at first and removed by an
upgrade, since the cluster removes it, too.
*/}}
{{- define "gpuhost.hasToken" }}
{{- with .Values.bootstrapToken }}
{{- if .enabled }}
{{- $expires := required "bootstrapToken.enabled needs bootstrapToken.expiration, a time such as 2026-12-01T18:00:00Z" .expiration | toDate "2006-01-02T15:04:05Z07:00" }}
{{- if gt $expires.Unix now.Unix }}
{{- print "true" }}
{{- else if $.Release.IsInstall }}
{{- fail (printf "bootstrapToken.expiration %s has passed: set a time in the future, in UTC" .expiration) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
