package audit

import "bytes"

// view is one way to read an item: as it is, or with its escapes resolved.
type view struct {
	data []byte
	at   []int  // where each byte of data, and its end, is in the item; nil if in the same place
	note string // appended to the form of what is found
	// known says that only given addresses count, because the way of reading is bold.
	known bool
}

// span is where bytes [start, end) of a view are in the item.
func (v view) span(start, end int) (int, int) {
	if v.at == nil {
		return start, end
	}
	return v.at[start], v.at[end]
}

// views are all ways to read an item. Texts are escaped twice at most.
func views(item []byte, given bool) []view {
	all := []view{{data: item}}
	for last := all[0]; ; {
		decoded, ok := unescaped(last)
		if !ok || len(all) > 2 {
			break
		}
		all = append(all, decoded)
		last = decoded
	}
	if !given {
		return all
	}
	for _, separator := range []byte("-_") {
		if bytes.Count(item, []byte{separator}) >= 2 {
			all = append(all, view{
				data: bytes.ReplaceAll(item, []byte{separator}, []byte(":")),
				note: " with " + string(separator), known: true,
			})
		}
	}
	return all
}

// unescaped resolves the percent signs of URLs. It returns false if there are none.
func unescaped(v view) (view, bool) {
	first := bytes.IndexByte(v.data, '%')
	if first < 0 {
		return v, false
	}
	decoded := view{note: ", percent-encoded"}
	changed := false
	for i := 0; i < len(v.data); i++ {
		from, _ := v.span(i, i)
		decoded.at = append(decoded.at, from)
		if v.data[i] == '%' && i+2 < len(v.data) && isHex(v.data[i+1]) && isHex(v.data[i+2]) {
			decoded.data = append(decoded.data, unhex(v.data[i+1])<<4|unhex(v.data[i+2]))
			i += 2
			changed = true
			continue
		}
		decoded.data = append(decoded.data, v.data[i])
	}
	_, end := v.span(len(v.data), len(v.data))
	decoded.at = append(decoded.at, end)
	return decoded, changed
}
