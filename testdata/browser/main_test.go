package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

var program string // rlbench, as "go build" makes it

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rlbench-browser")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "rlbench")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// written is the page of a command of rlbench.
func written(t *testing.T, args ...string) string {
	t.Helper()
	page := filepath.Join(t.TempDir(), "page.html")
	out, err := exec.Command(program, append(args, "-o", "html="+page)...).CombinedOutput()
	if _, statErr := os.Stat(page); statErr != nil {
		t.Fatalf("%v: no page: %v\n%s", args, err, out)
	}
	return page
}

// started is a browser for all of a test. Without one the test fails: a page that nobody
// looked at is not fine.
func started(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-dev-shm-usage", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v\nhint: apt-get install chromium", err)
	}
	return ctx
}

// look is how a page is looked at.
type look struct {
	width, height int64
	scheme        string // light or dark
	media         string // screen or print
}

// visit is a page in a tab, with what it asked for and said since.
type visit struct {
	context.Context
	t        *testing.T
	requests []string
	said     []string
	stop     context.CancelFunc
	listened []chan struct{}
}

// open loads a page in a tab of its own.
func open(t *testing.T, browser context.Context, page string, l look) *visit {
	t.Helper()
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	listening, stop := context.WithCancel(ctx)
	v := &visit{Context: ctx, t: t, stop: stop}
	call(v, network.Enable, network.EnableParams{})
	requests, messages := chromedp.Events(listening, network.RequestWillBeSent), chromedp.Console(listening)
	v.listen(func() {
		for e, err := range requests {
			if err == nil {
				v.requests = append(v.requests, e.Request.URL)
			}
		}
	})
	v.listen(func() {
		for m, err := range messages {
			if err == nil {
				v.said = append(v.said, fmt.Sprint(m))
			}
		}
	})
	call(v, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: l.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
	})
	v.do(chromedp.EmulateViewport(l.width, l.height), chromedp.Navigate("file://"+page))
	return v
}

func (v *visit) listen(f func()) {
	done := make(chan struct{})
	v.listened = append(v.listened, done)
	go func() { defer close(done); f() }()
}

// heard ends listening: a page asks for its own file, and says nothing.
func (v *visit) heard(page string) {
	v.t.Helper()
	time.Sleep(200 * time.Millisecond) // whatever a page would do later
	v.stop()
	for _, done := range v.listened {
		<-done
	}
	if len(v.requests) != 1 || v.requests[0] != "file://"+page {
		v.t.Errorf("asked for %q", v.requests)
	}
	if len(v.said) > 0 {
		v.t.Errorf("said on the console: %q", v.said)
	}
}

func (v *visit) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	if err := chromedp.Do(v, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// value is what an expression is in the page.
func value[T any](v *visit, expression string) T {
	v.t.Helper()
	got, err := chromedp.Run(v, chromedp.Evaluate[T](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

func call[P, R any](v *visit, command cdp.Command[P, R], params P) R {
	v.t.Helper()
	got, err := chromedp.Call(v, command, params)
	if err != nil {
		v.t.Fatal(err)
	}
	return got
}
