package limiter

import (
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// answerForm is what the first word of an error of Redis looks like. Nothing
// else of the text is logged or counted: servers quote the command in it, and
// with it the key.
var answerForm = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,23}$`)

// otherAnswer stands for what has no such word.
const otherAnswer = "other"

// answerOf is the word that an error of Redis begins with, such as OOM.
func answerOf(err error) string {
	if _, unreadable := errors.AsType[*ReplyError](err); unreadable {
		return "unreadable"
	}
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return otherAnswer
	}
	word, _, _ := strings.Cut(reply.Error(), " ")
	if !answerForm.MatchString(word) {
		return otherAnswer
	}
	return word
}

// warnEvery is how often the same answer is logged.
const warnEvery = 10 * time.Second

// warnings logs errors that Redis answers with, each word once in a while.
type warnings struct {
	mu    sync.Mutex
	heard map[string]*heard
}

type heard struct {
	times int // since it was logged
	next  time.Time
}

func (w *warnings) warn(now time.Time, log *slog.Logger, answer string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heard == nil {
		w.heard = map[string]*heard{}
	}
	h := w.heard[answer]
	if h == nil && len(w.heard) >= maxAnswers {
		answer = otherAnswer
		h = w.heard[answer]
	}
	if h == nil {
		h = &heard{next: now}
		w.heard[answer] = h
	}
	h.times++
	if now.Before(h.next) {
		return
	}
	log.Warn("rate limiter: Redis answers with an error", "answer", answer, "times", h.times)
	h.times, h.next = 0, now.Add(warnEvery)
}
