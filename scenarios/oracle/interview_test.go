package oracle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// interviewed is a case without a model in which one identity was asked again.
func interviewed(i scenarios.Interview) *oracle.Case {
	c := caseOf(limiter.Limit{Max: 3, Window: time.Minute}, admitted(0))
	c.Tells = scenarios.TellsAll
	if i.Limit == (limiter.Limit{}) {
		i.Limit = c.Plan.Limit
	}
	i.At = edge
	c.Examined = &scenarios.Examination{Interviews: []scenarios.Interview{i}}
	return c
}

var (
	yes = &limiter.Decision{Allowed: true, Limit: 3, Remaining: 2}
	no  = &limiter.Decision{Limit: 3, RetryAfter: 20 * time.Second}
)

func denial(retryAfter time.Duration) *limiter.Decision {
	return &limiter.Decision{Limit: 3, RetryAfter: retryAfter}
}

func TestInterviews(t *testing.T) {
	zero := limiter.Limit{Max: 0, Window: time.Minute}
	for _, row := range []struct {
		check string
		i     scenarios.Interview
		want  string
		text  string // in message or evidence
		why   string
	}{
		{"retry", scenarios.Interview{}, silent, "", "nothing was asked"},
		{"retry", scenarios.Interview{Denied: no, Early: no, Due: yes}, passes, "", "denied early, admitted when due"},
		{"retry", scenarios.Interview{Denied: no}, silent, "", "nobody waited"},
		{"retry", scenarios.Interview{Denied: no, Early: yes, Due: yes}, fails, "admitted 1µs before", "it would have helped a tick earlier"},
		{"retry", scenarios.Interview{Denied: no, Early: yes}, fails, "admitted 1µs before", "and nobody asked when it was due"},
		{"retry", scenarios.Interview{Denied: no, Early: no, Due: no}, fails, "denied again after its own wait", "who obeys is denied"},
		{"retry", scenarios.Interview{Denied: denial(0)}, fails, "denied without a wait", "no wait at all"},
		{"retry", scenarios.Interview{Denied: denial(-us)}, fails, "denied without a wait", "a wait that is over before it begins"},
		{"retry", scenarios.Interview{Denied: denial(limiter.Never)}, fails, "no wait helps", "never, for what fits"},
		{"retry", scenarios.Interview{Denied: denial(limiter.Never), Limit: zero}, silent, "", "never, where there is nothing"},
		{"retry", scenarios.Interview{Denied: denial(us), Due: no, Limit: zero}, fails, "denied again", "a wait for nothing"},

		{"denies", scenarios.Interview{Denied: no}, passes, "", "it denied something"},
		{"denies", scenarios.Interview{Insatiable: 5}, fails, "admitted 5 requests at one instant", "more than the limit at once"},
		{"denies", scenarios.Interview{}, silent, "", "it was not asked for so much"},

		{"recovers", scenarios.Interview{Rested: yes}, passes, "", "admitted after a silence"},
		{"recovers", scenarios.Interview{Rested: no}, fails, "ten windows", "denied after a silence"},
		{"recovers", scenarios.Interview{Rested: no, Limit: zero}, silent, "", "of nothing nothing comes back"},
		{"recovers", scenarios.Interview{}, silent, "", "nobody rested"},

		{"denied-is-free", scenarios.Interview{Denied: denial(us), Due: nil}, passes, "", "a denial that wrote nothing"},
		{"denied-is-free", scenarios.Interview{Denied: denial(us), DenialWrote: true, WroteKey: "k"}, warns, "key k", "a denial that was counted, by who claims nothing"},
		{"denied-is-free", scenarios.Interview{}, silent, "", "nothing was denied"},

		{"costs", scenarios.Interview{Huge: denial(limiter.Never)}, passes, "", "never, and a refusal"},
		{"costs", scenarios.Interview{Huge: yes}, fails, "admitted a cost of 4", "more than there is"},
		{"costs", scenarios.Interview{Huge: denial(time.Minute)}, fails, "a wait helps a cost of 4", "a wait that cannot help"},
		{"costs", scenarios.Interview{Huge: denial(limiter.Never), Negative: yes}, fails, "admitted a cost of -1", "a refund"},
		{"costs", scenarios.Interview{Huge: denial(limiter.Never), Negative: no}, passes, "", "denied rather than refused"},
		{"costs", scenarios.Interview{Huge: denial(limiter.Never), NegativeWrote: true}, fails, "changed its state for a cost of -1", "an error that was counted"},
		{"costs", scenarios.Interview{}, silent, "", "it takes no costs"},

		{"peek", scenarios.Interview{Peeked: yes, Then: yes}, passes, "", "the same answer"},
		{"peek", scenarios.Interview{Peeked: no, Then: no}, passes, "", "the same denial"},
		{"peek", scenarios.Interview{Peeked: yes, Then: yes, PeekWrote: true}, fails, "changed its state in a peek", "it was counted"},
		{"peek", scenarios.Interview{Peeked: yes, Then: no}, fails, "differently", "a yes, and then a no"},
		{"peek", scenarios.Interview{Peeked: &limiter.Decision{Allowed: true, Limit: 3, Remaining: 3}, Then: yes}, fails, "differently", "one more remains"},
		{"peek", scenarios.Interview{Peeked: denial(us), Then: denial(2 * us)}, fails, "differently", "another wait"},
		{"peek", scenarios.Interview{Peeked: yes}, silent, "", "nothing to compare with"},
		{"peek", scenarios.Interview{Then: yes}, silent, "", "it cannot peek"},

		{"heal", scenarios.Interview{Immortal: []string{}}, passes, "", "all got a time to live again"},
		{"heal", scenarios.Interview{Immortal: []string{"k"}}, warns, "key k", "a warning, where nothing is claimed"},
		{"heal", scenarios.Interview{}, silent, "", "nobody tried"},
	} {
		f := only(t, row.why, interviewed(row.i), row.check, row.want)
		text := f.Message + "\n" + strings.Join(f.Evidence, "\n")
		if !strings.Contains(text, row.text) || row.want == fails && !strings.Contains(text, "client 0, pseudonym 0, limit") {
			t.Errorf("%s: %s says %q, want %q and whom it asked", row.why, row.check, text, row.text)
		}
	}
}

// Whoever claims to heal has to.
func TestHealOfWhoClaimsTo(t *testing.T) {
	c := answered(limiter.Log, limiter.Limit{Max: 3, Window: time.Minute}, request{})
	c.Examined = &scenarios.Examination{Interviews: []scenarios.Interview{{Immortal: []string{"k"}, Limit: c.Plan.Limit}}}
	only(t, "an algorithm alone claims no such thing", c, "heal", warns)
	c.Strict = true
	only(t, "a key without a time to live", c, "heal", fails)
	c.Examined.Interviews[0].Immortal = []string{}
	only(t, "none", c, "heal", passes)
}

// Whoever claims more than its algorithm has to leave its state alone, too.
func TestDenialOfAStrictLimiter(t *testing.T) {
	c := answered(limiter.Log, limiter.Limit{Max: 3, Window: time.Minute}, request{})
	c.Strict = true
	c.Examined = &scenarios.Examination{Interviews: []scenarios.Interview{{
		Denied: &limiter.Decision{RetryAfter: time.Minute}, DenialWrote: true, WroteKey: "k", Limit: c.Plan.Limit,
	}}}
	only(t, "a denial that was counted", c, "denied-is-free", fails)
}

// A time to live has to be renewed as the state goes on: after two admissions of
// a log half a minute apart, the later one matters for a minute more.
func TestAgedKeys(t *testing.T) {
	for _, row := range []struct {
		why  string
		life time.Duration
		want string
	}{
		{"renewed", 61 * time.Second, passes},
		{"a busy machine looked a little later", 61*time.Second - 1100*time.Millisecond, passes},
		{"that of the first admission went on", 31 * time.Second, fails},
	} {
		c := answered(limiter.Log, limiter.Limit{Max: 3, Window: time.Minute}, request{})
		first := limiter.Decision{Allowed: true, At: edge.Add(time.Hour)}
		second := limiter.Decision{Allowed: true, At: edge.Add(time.Hour + 30*time.Second)}
		c.Examined = &scenarios.Examination{
			Keys:       []scenarios.KeyState{{Name: "k", TTL: time.Minute}},
			Interviews: []scenarios.Interview{{Limit: c.Plan.Limit, Aged: &scenarios.Aged{First: first, Second: second, Life: row.life}}},
		}
		only(t, row.why, c, "ttl", row.want)
	}
}

// What a limiter does not tell cannot be wrong.
func TestInterviewsOfWhoTellsLittle(t *testing.T) {
	for _, row := range []struct {
		check string
		tells scenarios.Tells
		i     scenarios.Interview
		want  string
		text  string
		why   string
	}{
		{"retry", scenarios.Tells{}, scenarios.Interview{Denied: denial(0)}, silent, "", "no wait is told"},
		{"retry", scenarios.Tells{Retry: time.Second}, scenarios.Interview{Denied: no, Early: yes, Due: yes}, fails, "admitted 1s before", "a second early"},
		{"retry", scenarios.Tells{Retry: time.Second}, scenarios.Interview{Denied: no, Early: no, Due: yes}, passes, "", "to the second"},
		{"costs", scenarios.Tells{}, scenarios.Interview{Huge: denial(0)}, passes, "", "a denial is all it can say"},
		{"peek", scenarios.Tells{}, scenarios.Interview{Peeked: denial(us), Then: denial(0)}, passes, "", "waits that mean nothing"},
		{"peek", scenarios.Tells{Retry: us}, scenarios.Interview{Peeked: denial(us), Then: denial(0)}, fails, "differently", "waits that do"},
		{"peek", scenarios.Tells{}, scenarios.Interview{Peeked: yes, Then: &limiter.Decision{Allowed: true, Limit: 3}}, passes, "", "a remainder that means nothing"},
		{"peek", scenarios.Tells{At: true}, scenarios.Interview{Peeked: &limiter.Decision{At: edge}, Then: &limiter.Decision{At: edge.Local()}}, passes, "", "the same instant in another zone"},
		{"peek", scenarios.Tells{At: true}, scenarios.Interview{Peeked: &limiter.Decision{At: edge}, Then: &limiter.Decision{At: edge.Add(us)}}, fails, "differently", "another instant"},
	} {
		c := changed(interviewed(row.i), func(c *oracle.Case) { c.Tells = row.tells })
		if f := only(t, row.why, c, row.check, row.want); !strings.Contains(f.Message, row.text) {
			t.Errorf("%s: %q, want %q", row.why, f.Message, row.text)
		}
	}
}

// One bad answer is enough, and the good ones are counted.
func TestSeveralInterviews(t *testing.T) {
	c := interviewed(scenarios.Interview{Rested: yes})
	again := c.Examined.Interviews[0]
	again.Identity = scenarios.Identity{Key: 5, Pseudonym: 2}
	c.Examined.Interviews = append(c.Examined.Interviews, again, scenarios.Interview{Limit: again.Limit})
	if f := only(t, "two of three were asked", c, "recovers", passes); f.Message != "held for 2 identities, asked again" {
		t.Errorf("got %q", f.Message)
	}
	c.Examined.Interviews[1].Rested = no
	if f := only(t, "the second is wrong", c, "recovers", fails); !strings.Contains(f.Evidence[0], "client 5, pseudonym 2, limit 3/1m, asked at edge+0.000000s") {
		t.Errorf("got %q", f.Evidence)
	}
}
