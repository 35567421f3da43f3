package backend

import (
	"slices"
	"syscall"
)

// Write passes on what b completes, and keeps the beginning of a command until
// the rest is written. What was written before an operation that a connection
// breaks at may run or not.
func (w *wire) Write(b []byte) (int, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	if w.isBroken() {
		return 0, w.failure("write", syscall.ECONNRESET)
	}
	data := b
	if len(w.pending) > 0 {
		data = append(w.pending, b...)
	}
	kept, err := w.pass(data, len(w.pending))
	if err != nil {
		return 0, err
	}
	w.pending = append(w.pending[:0], kept...)
	return len(b), nil
}

// pass decides on the commands that data holds, of which seen bytes are known
// to complete none, and returns the beginning of the last.
func (w *wire) pass(data []byte, seen int) (rest []byte, err error) {
	begin, sent := 0, 0 // of the command under way; up to where data is dealt with
	for at := seen; at < len(data) && !w.isOpaque(); {
		n, ended, err := w.commands.next(data[at:])
		if err != nil {
			w.giveUp()
			break
		}
		if at += n; !ended {
			return data[begin:], w.send(data[sent:begin])
		}
		switch v := w.judge(data[begin:at]); v.action {
		case answer:
			if err := w.send(data[sent:begin]); err != nil {
				return nil, err
			}
			sent = at
			w.expect(v)
		case reset, tear:
			end := begin
			if v.action == tear {
				end += (at - begin) / 2
			}
			_ = w.send(data[sent:end]) // if that fails, it is broken already
			w.cut()
			return nil, w.failure("write", syscall.ECONNRESET)
		default:
			w.expect(v)
		}
		begin = at
	}
	return nil, w.send(data[sent:])
}

func (w *wire) send(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := w.Conn.Write(b)
	if err != nil && w.isBroken() {
		return w.failure("write", syscall.ECONNRESET)
	}
	return err
}

// judge decides on a whole command.
func (w *wire) judge(command []byte) verdict {
	name, second, ok := words(command)
	if !ok || slices.Contains(oneWay, name) || name == "CLIENT" && second == "REPLY" {
		w.giveUp()
		return verdict{}
	}
	switch name {
	case "MULTI":
		w.multi = true
	case "EXEC", "DISCARD":
		w.multi = false
	}
	if w.multi || !slices.Contains(decisions, name) { // in a transaction, EXEC is the operation
		return verdict{}
	}
	w.operations++
	return w.injector.decide(w.number, w.operations, name)
}
