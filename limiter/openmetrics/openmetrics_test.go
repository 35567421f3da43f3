package openmetrics

import "testing"

func TestText(t *testing.T) {
	var text Text
	requests := text.Counter("shop_requests", "", "Requests, by \"kind\".\nTwo lines.")
	requests.Count(3, "kind", `a"b`, "path", `c:\d`)
	requests.Count(0, "kind", "two\nlines")
	text.Counter("shop_open_seconds", "seconds", "How long.").Value(0.25)
	text.Gauge("shop_open", "", "How many now.").Count(-1)
	const want = `# TYPE shop_requests counter
# HELP shop_requests Requests, by \"kind\".\nTwo lines.
shop_requests_total{kind="a\"b",path="c:\\d"} 3
shop_requests_total{kind="two\nlines"} 0
# TYPE shop_open_seconds counter
# UNIT shop_open_seconds seconds
# HELP shop_open_seconds How long.
shop_open_seconds_total 0.25
# TYPE shop_open gauge
# HELP shop_open How many now.
shop_open -1
`
	if got := text.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
