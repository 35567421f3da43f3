package limiter

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// budget is one policy in the form in which a request needs it.
type budget struct {
	script    *Script
	algorithm Algorithm
	limit     Limit
	head      string // of every key, up to and with the brace of the hash tag

	window, max any // arguments that never change, boxed once
}

func newBudget(client Processor, a Algorithm, l Limit, prefix, policy string) budget {
	return budget{
		script:    NewScript(client, a.Script),
		algorithm: a,
		limit:     l,
		head:      a.keyHead(prefix, policy, l.Window),
		window:    strconv.FormatInt(l.Window.Microseconds(), 10),
		max:       strconv.FormatInt(l.Max, 10),
	}
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// validBudget reports what is wrong with a policy.
func validBudget(a Algorithm, l Limit, policy string) error {
	var errs []error
	if a.Script == "" {
		errs = append(errs, errors.New("no algorithm: set one of limiter.Algorithms, such as limiter.Log"))
	} else {
		errs = append(errs, a.Validate(l))
	}
	if !nameForm.MatchString(policy) {
		errs = append(errs, fmt.Errorf("policy %q: want letters, digits, '.', '_' and '-'", policy))
	}
	return errors.Join(errs...)
}

// appendKeys adds the keys of an identity's names, the one to write first.
func (b *budget) appendKeys(keys []string, slot, name, also string) []string {
	keys = append(keys, b.key(slot, name))
	if also == "" || also == name {
		return keys
	}
	return append(keys, b.key(slot, also))
}

// key puts what a cluster hashes between braces: the slot if there is one, else
// the name itself.
func (b *budget) key(slot, name string) string {
	if slot == "" {
		return b.head + tagged(name) + "}"
	}
	return b.head + tagged(slot) + "}" + name
}

// decision turns the numbers of a script's reply into a decision.
func (b *budget) decision(n [4]int64, now int64) Decision {
	d := Decision{
		Allowed:    n[0] == 1,
		Limit:      b.limit.Max,
		Remaining:  n[1],
		RetryAfter: micros(n[2]),
		ResetAfter: micros(n[3]),
		At:         time.UnixMicro(now).UTC(),
		Source:     SourceRedis,
	}
	if n[2] < 0 {
		d.RetryAfter = Never
	}
	return d
}

func isCluster(client Processor) bool {
	if p, ok := client.(*Pipeline); ok {
		client = p.client
	}
	_, ok := client.(*redis.ClusterClient)
	return ok
}

// together refuses keys that a cluster would refuse, with a better message.
func together(keys []string) error {
	for _, key := range keys[1:] {
		if Slot(key) != Slot(keys[0]) {
			return errors.New("decide in Redis: names of one client are in several slots of the cluster; set Slot to a label that they share")
		}
	}
	return nil
}

// integers reads a reply that is that many integers.
func integers(reply any, to []int64) error {
	values, ok := reply.([]any)
	if !ok || len(values) != len(to) {
		return fmt.Errorf("want %d integers, got %v", len(to), reply)
	}
	for i, v := range values {
		if to[i], ok = v.(int64); !ok {
			return fmt.Errorf("value %d is a %T, want an integer: %v", i+1, v, reply)
		}
	}
	return nil
}

// instant is a request's instant as an argument: empty lets the server decide.
func instant(at time.Time) any {
	if at.IsZero() {
		return ""
	}
	return at.UnixMicro()
}

// units is a request's cost as an argument.
func units(cost int64) any {
	if cost > 1 {
		return cost
	}
	return "1"
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// constantNonce is for algorithms that store none: any text but the empty one,
// which peeks.
const constantNonce = "-"

// nonces names requests. They are unique under every key as long as no two of a
// key's limiters drew the same 48 random bits.
type nonces struct {
	instance string
	requests *atomic.Uint64
}

func newNonces() nonces {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails: it ends the program instead
	return nonces{base64.RawURLEncoding.EncodeToString(id[:]), new(atomic.Uint64)}
}

func (n nonces) next() string { return n.instance + strconv.FormatUint(n.requests.Add(1), 36) }
