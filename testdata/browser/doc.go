// Package browser opens the pages that rlbench writes in headless Chromium, and looks at
// what a reader gets: pictures, colours, names for a screen reader, keys, the printer.
//
// It is a module of its own, so that nobody who builds rlbench needs a browser.
package browser
