package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/accessibility"
)

//go:embed audit.js
var auditor string

// named are the roles that a screen reader announces by their name.
var named = []string{"image", "img", "graphics-document", "button", "link", "heading", "table", "group", "region", "navigation", "figure", "DisclosureTriangle"}

// audit is what is wrong with a page as it is shown now.
func audit(v *visit) []string {
	v.t.Helper()
	return value[[]string](v, auditor)
}

// nameless is what has no name in the tree that Chromium gives a screen reader.
func nameless(v *visit) []string {
	v.t.Helper()
	var wrong []string
	for _, node := range call(v, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if node.Ignored || node.Role == nil || !slices.Contains(named, text(node.Role)) {
			continue
		}
		if text(node.Name) == "" && (text(node.Role) != "group" || focusable(node)) {
			wrong = append(wrong, fmt.Sprintf("name: %s %v has none", text(node.Role), node.BackendDOMNodeID))
		}
	}
	return wrong
}

// focusable are the groups that somebody lands on by Tab.
func focusable(node *accessibility.Node) bool {
	return slices.ContainsFunc(node.Properties, func(p *accessibility.Property) bool {
		return p.Name == accessibility.PropertyNameFocusable
	})
}

func text(v *accessibility.Value) string {
	var s string
	if v != nil {
		_ = json.Unmarshal(v.Value, &s) // of another type: no name
	}
	return s
}
