package demo

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is asked.
const (
	MaxPage  = 10_000
	MaxQuery = 64 // characters
)

// asked is what a request wants.
type asked struct {
	page   int // from 0
	region string
	q      string
}

// parameter reads one parameter of a query string. The text is empty if the
// parameter is missing.
type parameter struct {
	name string
	read func(text string, a *asked) error
}

// The parameters.
var (
	page           = parameter{"page", readPage}
	optionalRegion = parameter{"region", readRegion}
	feedRegion     = parameter{"region", func(text string, a *asked) error {
		if text == "" {
			text = Regions[0]
		}
		return readRegion(text, a)
	}}
	searchText = parameter{"q", readQuery}
)

// read is what a query string asks for, or everything that is wrong with it.
func read(query string, takes []parameter) (asked, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return asked{}, errors.New("the query string is malformed")
	}
	var a asked
	var errs []error
	for _, p := range append([]parameter{page}, takes...) {
		given := values[p.name]
		delete(values, p.name)
		if len(given) > 1 {
			errs = append(errs, fmt.Errorf("%s is given %d times", p.name, len(given)))
			continue
		}
		errs = append(errs, p.read(strings.Join(given, ""), &a))
	}
	const shown = 5
	for i, name := range slices.Sorted(maps.Keys(values)) {
		if i == shown {
			errs = append(errs, fmt.Errorf("%d more unknown parameters", len(values)-shown))
			break
		}
		errs = append(errs, fmt.Errorf("unknown parameter %s", short(name)))
	}
	return a, errors.Join(errs...)
}

// short quotes a text of any length.
func short(text string) string {
	const longest = 40
	if len(text) > longest {
		return strconv.Quote(text[:longest]) + "..."
	}
	return strconv.Quote(text)
}

func readPage(text string, a *asked) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > MaxPage {
		return fmt.Errorf("page %s: want 0 to %d", short(text), MaxPage)
	}
	a.page = n
	return nil
}

func readRegion(text string, a *asked) error {
	if text != "" && !slices.Contains(Regions, text) {
		return fmt.Errorf("region %s: want one of %s", short(text), strings.Join(Regions, ", "))
	}
	a.region = text
	return nil
}

func readQuery(text string, a *asked) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("q is missing: want a text to search for")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("q %s is not plain text", short(text))
	case utf8.RuneCountInString(text) > MaxQuery:
		return fmt.Errorf("q has %d characters: want at most %d", utf8.RuneCountInString(text), MaxQuery)
	}
	a.q = text
	return nil
}
