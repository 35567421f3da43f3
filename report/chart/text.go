package chart

import (
	"strings"
	"unicode"
)

// Clip shortens a text so that it and an ending have room beside a line. The ending
// stays whole.
func Clip(text, ending string) string {
	room := labelWidth - widthOf(ending)
	if widthOf(text) <= room {
		return text + ending
	}
	room -= advance('…')
	for i, r := range text {
		if room -= advance(r); room < 0 {
			return text[:i] + "…" + ending
		}
	}
	return text + ending
}

func widthOf(text string) float64 {
	sum := 0.0
	for _, r := range text {
		sum += advance(r)
	}
	return sum
}

// wrapped breaks a text at blanks into lines that are no wider than asked, unless a word is.
func wrapped(text string, width float64) []string {
	var all []string
	for _, word := range strings.Fields(text) {
		if n := len(all); n > 0 && widthOf(all[n-1]+" "+word) <= width {
			all[n-1] += " " + word
		} else {
			all = append(all, word)
		}
	}
	return all
}

// advance is how wide a character may be at 12 pixels, in the widest of the fonts that a
// picture asks for. Nobody who draws knows which one a reader has.
func advance(r rune) float64 {
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x1100: // most of what is written beyond is in squares
		return 12.5
	case strings.ContainsRune("ijl,.:;'| ", r):
		return 4.1
	case strings.ContainsRune("frt-()[]!/", r):
		return 5
	case strings.ContainsRune("mwMW@%<>=+~", r) || r > unicode.MaxLatin1:
		return 12
	case unicode.IsUpper(r):
		return 9.5
	default:
		return 7.7
	}
}
