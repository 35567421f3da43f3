package tuning

import (
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// envoyView is what Envoy's ratelimit service counts: one limit if it knows the window, and
// else up to two that together come near. None of them refuses who keeps to the limit.
type envoyView struct {
	Exact  bool
	Limits []envoyLimit
}

type envoyLimit struct {
	Unit  string
	Count int64
}

// envoyUnits are the windows that it has.
var envoyUnits = []struct {
	name   string
	length time.Duration
}{{"second", time.Second}, {"minute", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour}}

// envoyOf takes the longest unit that is no longer than the window, with the limit itself,
// which bounds bursts, and the shortest that is longer, with as many as the limit allows in
// the windows that cover it, which bounds the rate.
func envoyOf(l limiter.Limit) envoyView {
	var v envoyView
	for _, u := range envoyUnits {
		if u.length == l.Window {
			return envoyView{Exact: true, Limits: []envoyLimit{{u.name, l.Max}}}
		}
		if u.length < l.Window {
			v.Limits = []envoyLimit{{u.name, l.Max}}
			continue
		}
		covering := ceilOf(1, int64(l.Window), int64(u.length))
		v.Limits = append(v.Limits, envoyLimit{u.name, l.Max * covering})
		break
	}
	return v
}

const envoyText = `# Recommended by rlbench tune: {{.Limit}}, for Envoy's ratelimit service.
# It counts in fixed windows: around an edge a client gets twice the limit.{{if not .Envoy.Exact}}
# It has no window of {{.Window}}. Nobody who keeps to the limit is refused here, but more may
# come through than the limit says.{{end}}
#
# What is counted Envoy has to send, with these rate_limits of a {{if eq .Key "ip+route"}}route{{else}}virtual host{{end}}:
{{range $b := .Budgets}}{{if $b.Path}}# of the route of {{$b.Method}} ^{{$b.Path}}$
{{else if eq $.Key "ip+route"}}# of all other routes
{{end}}{{range $.Envoy.Limits}}#   - actions:
#     - generic_key: {descriptor_value: {{$b.Name}}-{{.Unit}}}
#     - {{if eq $.Key "prefix"}}masked_remote_address: {v4_prefix_mask_len: 24, v6_prefix_mask_len: 48}{{else}}remote_address: {}{{end}}
{{end}}{{end}}domain: rlbench
descriptors:
{{range $b := .Budgets}}{{range $.Envoy.Limits}}  - key: generic_key
    value: {{$b.Name}}-{{.Unit}}
    descriptors:
      - key: {{if eq $.Key "prefix"}}masked_remote_address{{else}}remote_address{{end}}
        rate_limit:
          unit: {{.Unit}}
          requests_per_unit: {{.Count}}
{{end}}{{end}}`
