package demo

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a catalogue that opens fast and that nobody changes.
func small(t *testing.T) Config {
	return Config{Dir: t.TempDir(), Seed: 1, Videos: 500, PageSize: 20, WriteEvery: time.Hour, Timeout: time.Minute}
}

func open(t *testing.T, c Config) *API {
	t.Helper()
	a, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// get asks for a path.
func get(a *API, path string, parameters url.Values) *http.Response {
	w := httptest.NewRecorder()
	target := url.URL{Path: path, RawQuery: parameters.Encode()}
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, target.String(), nil))
	return w.Result()
}

// videos asks for a list that has to be there.
func videos(t *testing.T, a *API, path string, parameters url.Values) []Video {
	t.Helper()
	res := get(a, path, parameters)
	var p Page
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s?%s: status %d, %v", path, parameters.Encode(), res.StatusCode, err)
	}
	if p.Videos == nil || p.PageSize != a.config.PageSize {
		t.Fatalf("%s?%s: %+v", path, parameters.Encode(), p)
	}
	return p.Videos
}

// refused is the problem that an answer carries.
func refused(t *testing.T, res *http.Response) problem {
	t.Helper()
	var p problem
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); got != "application/problem+json" || p.Status != res.StatusCode {
		t.Errorf("status %d, %s: %+v", res.StatusCode, got, p)
	}
	return p
}
