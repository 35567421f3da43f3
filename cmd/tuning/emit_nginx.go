package tuning

import (
	"fmt"
	"math/big"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// nginxView is the leaky bucket that comes nearest: it refuses nobody who keeps to the limit.
type nginxView struct {
	Limit limiter.Limit
	Own   bool // it is the least limit of gcra, and not that of the recommendation
	Rate  string
	Burst int64
	Worst int64 // in a window
	Zone  string
	Key   string
	// Times is how many times faster than the limit the rate is, where there is no slower
	// one; 0 is nearly as fast.
	Times string
}

// nginxOf takes the least limit of gcra, which decides as limit_req does, if there is one with
// the recommended window and key. Its rate is a whole number a second or a minute, of which
// nginx keeps whole thousandths a second: it is the least that is no slower than the limit.
func nginxOf(t *report.Tuning, v *view) nginxView {
	n := nginxView{Limit: v.Limit}
	for _, c := range t.Choices() {
		if c.Policy.Algorithm == limiter.GCRA.Name {
			n.Limit.Max = c.Policy.Limit
			n.Own = n.Limit != v.Limit
		}
	}
	perMinute := ceilOf(n.Limit.Max, int64(n.Limit.Window), int64(time.Minute))
	for perMinute*1000/60*n.Limit.Window.Microseconds() < n.Limit.Max*1000*time.Second.Microseconds() {
		perMinute++
	}
	n.Rate = fmt.Sprintf("%dr/m", perMinute)
	if perMinute%60 == 0 {
		n.Rate = fmt.Sprintf("%dr/s", perMinute/60)
	}
	if times := float64(perMinute) / float64(n.Limit.Max) * n.Limit.Window.Minutes(); times >= 1.05 {
		n.Times = fmt.Sprintf("%.3g", times)
	}
	n.Burst, n.Worst = n.Limit.Max-1, limiter.GCRA.Worst(n.Limit)
	const state = 128 // bytes that nginx keeps of a key on a 64-bit machine
	n.Zone = fmt.Sprintf("%dm", max((v.Keys*state*5/4)>>20, 1))
	switch v.Key {
	case string(simulator.PerRoute):
		n.Key = "$binary_remote_addr$rlbench_route"
	case string(simulator.PerPrefix):
		n.Key = "$rlbench_network"
	default:
		n.Key = "$binary_remote_addr"
	}
	return n
}

// ceilOf is count × length / window, rounded up; of limits that there are it fits 64 bits.
func ceilOf(count, window, length int64) int64 {
	n := new(big.Int).Mul(big.NewInt(count), big.NewInt(length))
	n.Add(n, big.NewInt(window-1))
	return n.Div(n, big.NewInt(window)).Int64()
}

const nginxText = `# Recommended by rlbench tune: {{.Nginx.Limit}}{{if eq .Key "prefix"}} for each network of /24 or /48{{else if eq .Key "ip+route"}} for each address on each route{{else}} for each address{{end}}.
# Include this in http { }; move limit_req to where it is to count. Behind a proxy set
# $remote_addr with the realip module first.
# limit_req is a leaky bucket: {{.Nginx.Limit.Max}} may come at once, and from then on one at a time, as
# with the algorithm gcra of rlbench: up to {{.Nginx.Worst}} in {{.Window}}. Nobody who keeps to the limit is refused.{{if .Nginx.Own}}
# This is the least limit of gcra; {{.Algorithm}} has {{.Limit}}.{{end}}
# The rate is the least whole number that nginx, which keeps thousandths a second of it, does
# not make slower than the limit.{{if .Nginx.Times}}
# nginx knows no such slow rate: this one gives back {{.Nginx.Times}} times as many as the limit.{{end}}
{{if eq .Key "ip+route"}}map "$request_method $uri" $rlbench_route {
{{range .Budgets}}{{if .Path}}    "~^{{.Method}} {{.Path}}$" {{.Name}};
{{else}}    default {{.Name}};
{{end}}{{end}}}
{{else if eq .Key "prefix"}}map $binary_remote_addr $rlbench_network {
    "~^(?s)(?<network>...).\z" $network;
    "~^(?s)(?<network>.{6}).{10}\z" $network;
    default $binary_remote_addr;
}
{{end}}limit_req_zone {{.Nginx.Key}} zone=rlbench:{{.Nginx.Zone}} rate={{.Nginx.Rate}};
limit_req_status 429;
limit_req zone=rlbench{{if .Nginx.Burst}} burst={{.Nginx.Burst}} nodelay{{end}};
`
