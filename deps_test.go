package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rlbench/rlbench"

// A floor may import only what is listed. The reason is what breaks otherwise.
var floors = []floor{
	{"scripts", "people who use no Go read the Lua alone", nil},
	{"limiter", "a service imports the limiter without the tester", []string{"limiter/openmetrics", "scripts"}},
	{"limiter/audit", "any Redis can be looked at, whatever limits on it and however it was opened", []string{"limiter"}},
	{"limiter/backend", "opening a Redis knows nothing of what runs on it", []string{"limiter"}},
	{"limiter/httplimit", "a service limits HTTP without the tester", []string{"limiter", "limiter/openmetrics"}},
	{"limiter/edge", "a coarse tier needs no Redis", []string{"limiter"}},
	{"limiter/faulty", "a specimen is a limiter like any other, whoever judges it", []string{"limiter"}},
	{"limiter/identity", "naming clients needs no Redis and no module", []string{"limiter"}},
	{"limiter/openmetrics", "text of counters knows nothing of what is counted", nil},
	{"limiter/limitertest", "anybody's limiter can be put through the kit", []string{"limiter"}},
	{"scenarios", "a scenario can be planned without a socket", []string{"limiter", "limiter/edge", "limiter/identity"}},
	{"scenarios/oracle", "judging is pure", []string{"scenarios", "limiter", "limiter/edge"}},
	{"scenarios/runner", "the runner knows limiters, not what is behind them", []string{"scenarios", "limiter"}},
	{"scenarios/trace", "a log is read without a socket, and judged by nobody", []string{"scenarios", "limiter", "limiter/identity"}},
	{"scenarios/crowd", "traffic is made up without knowing who looks at it", nil},
	{"scenarios/simulator", "deciding fast needs no Redis and no log", []string{"scenarios", "limiter"}},
	{"scenarios/target", "targets meet backends here and nowhere below cmd", []string{
		"scenarios", "limiter", "limiter/audit", "limiter/backend", "limiter/edge", "limiter/faulty",
	}},
	{"report", "a saved report can be rendered without the tester", []string{"scenarios", "limiter", "limiter/openmetrics", "report/chart", "report/stats"}},
	{"report/chart", "pictures know nothing of what is measured", nil},
	{"report/stats", "statistics know nothing of what is measured", nil},
	{"cmd", "cmd is where everything meets", []string{
		"limiter", "limiter/audit", "limiter/backend", "limiter/edge", "limiter/faulty", "limiter/httplimit", "limiter/identity",
		"limiter/openmetrics", "scenarios", "scenarios/crowd", "scenarios/oracle", "scenarios/runner", "scenarios/simulator", "scenarios/target", "scenarios/trace", "report", "cmd/demo", "cmd/tuning",
	}},
	{"cmd/tuning", "a log, a simulator and a report meet without a Redis", []string{"limiter", "scenarios", "scenarios/simulator", "scenarios/trace", "report"}},
	{"cmd/demo", "what is shot at knows nothing of who shoots", []string{"limiter"}},
	{"", "main only calls cmd", []string{"cmd"}},
}

// Each third-party module has one home: the folders that may import it, with
// the reason for the dependency. CONTRIBUTING.md repeats this for people.
var homes = []struct {
	module  string
	folders []string
}{
	{"github.com/redis/go-redis/v9", []string{"limiter", "limiter/audit", "limiter/backend", "limiter/faulty", "limiter/limitertest"}},
	{"github.com/alicebob/miniredis/v2", []string{"limiter/backend"}},
	{"github.com/dunglas/httpsfv", []string{"limiter/httplimit"}},
	{"go.yaml.in/yaml/v4", []string{"scenarios"}},
	{"github.com/agnivade/levenshtein", []string{"scenarios"}},
	{"github.com/klauspost/compress", []string{"scenarios/trace"}},
	{"github.com/HdrHistogram/hdrhistogram-go", []string{"report"}},
	{"github.com/olekukonko/tablewriter", []string{"report"}},
	{"github.com/fatih/color", []string{"report"}},
	{"github.com/aclements/go-moremath", []string{"report/stats"}},
	{"github.com/spf13/cobra", []string{"cmd"}},
	{"github.com/spf13/pflag", []string{"cmd"}},
	{"github.com/vbauerster/mpb/v8", []string{"cmd"}},
	{"golang.org/x/term", []string{"cmd"}},
	{"modernc.org/sqlite", []string{"cmd/demo"}},
}

// floor is a folder and the folders that it may import.
type floor struct {
	folder, reason string
	may            []string
}

// pkg is what go list says about a package.
type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// folderOf is the folder of one of our packages, and false for others.
func folderOf(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func TestImportsGoDown(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		folder, _ := folderOf(p.ImportPath)
		i := slices.IndexFunc(floors, func(f floor) bool { return f.folder == folder })
		if i < 0 {
			t.Errorf("folder %q is on no floor; add it to floors with a reason", folder)
			continue
		}
		seen++
		for _, path := range p.Imports {
			if to, ours := folderOf(path); ours && !slices.Contains(floors[i].may, to) {
				t.Errorf("%q imports %q: %s", folder, to, floors[i].reason)
			}
		}
	}
	if seen != len(floors) {
		t.Errorf("%d of %d floors exist", seen, len(floors))
	}
}

func TestEachModuleHasOneHome(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		folder, _ := folderOf(p.ImportPath)
		for _, path := range p.Imports {
			if _, ours := folderOf(path); ours || !strings.Contains(strings.Split(path, "/")[0], ".") {
				continue
			}
			home := ""
			for _, h := range homes {
				if path == h.module || strings.HasPrefix(path, h.module+"/") {
					home = h.module
					if !slices.Contains(h.folders, folder) {
						t.Errorf("%q imports %s, whose home is %v", folder, path, h.folders)
					}
				}
			}
			if home == "" {
				t.Errorf("%q imports %s, which has no home", folder, path)
			}
			used[home] = true
		}
	}
	for _, h := range homes {
		if !used[h.module] {
			t.Errorf("nothing imports %s any more; take it out", h.module)
		}
	}
}
