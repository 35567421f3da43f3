package identity_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPrivacyPage: its links lead somewhere, and its arithmetic is right.
func TestPrivacyPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(page), -1)
	if len(links) == 0 {
		t.Error("no link to the code")
	}
	for _, l := range links {
		if _, err := os.Stat("../../docs/" + l[1]); err != nil {
			t.Error(err)
		}
	}
	if want := "666 s"; fmt.Sprintf("%.0f s", math.Pow(2, 32)*155e-9) != want || !strings.Contains(string(page), want) {
		t.Errorf("all of IPv4 does not take %s", want)
	}
	if row := "| 10,000 | 625 | 156 | 39 | 10 |"; !strings.Contains(string(page), row) {
		t.Errorf("no row %q: 10000/2^4, /2^6, /2^8, /2^10", row)
	}
}
