package backend

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// advice is a cause of failure in words, and what to do about it. In the hint
// $ADDR, $PORT, $URL, $AUTHURL and $CLI are filled in.
type advice struct{ what, hint string }

var (
	cancelled   = advice{"gave up", ""}
	refused     = advice{"nothing listens there", "start one: redis-server --port $PORT; or use --redis managed"}
	noSocket    = advice{"no server listens on that socket", "start one: redis-server --port 0 --unixsocket $ADDR; or use --redis managed"}
	forbidden   = advice{"this user may not use that socket", "see who may: ls -l $ADDR"}
	unknownHost = advice{"no address found for the host name", "correct the name, or use an address: redis://127.0.0.1:6379"}
	unreachable = advice{"cannot connect", "check host and port: $CLI ping; or use --redis managed"}
	blackHole   = advice{"no connection in time", "check host, port and firewall; for a slow network use $URL?dial_timeout=5s"}
	silent      = advice{"connected, but no answer in time", "check what listens there: $CLI ping; for a slow server use $URL?read_timeout=5s"}
	hungUp      = advice{"connected, but the connection broke before an answer", "check what listens there: $CLI ping"}
	web         = advice{"an HTTP server answers there, not Redis", "the usual port of Redis is 6379: redis://localhost:6379; or use --redis managed"}
	stranger    = advice{"what answers there is not Redis", web.hint}
	needsTLS    = advice{"the server speaks TLS and the URL does not ask for it", "use rediss://$ADDR"}
	needsPlain  = advice{"the URL asks for TLS and the server does not speak it", "use redis://$ADDR"}
	untrusted   = advice{"the server's certificate is not trusted", "name its CA: SSL_CERT_FILE=ca.pem; or trust any: $URL?skip_verify=true"}
	wantsCert   = advice{"the server wants a client certificate, which a URL cannot carry", "start it so that it does not: redis-server --tls-auth-clients no"}
	refusesPing = advice{"the server refuses", "check by hand: $CLI ping"}
)

// refusals are the error replies that need more than their own words, by how
// they start. A leading "ERR " does not count.
var refusals = []struct {
	prefix string
	advice
}{
	{"NOAUTH", advice{"the server wants a password", "put it into the URL: $AUTHURL"}},
	{"WRONGPASS", advice{"wrong user or password", "use the right one: $AUTHURL; or USER:PASSWORD for a user other than default"}},
	{"invalid password", advice{"wrong password", "use the right one: $AUTHURL"}}, // before Redis 6
	{"AUTH <password> called without", advice{"the URL has a password, but the server has none", "leave it out: $URL"}},
	{"Client sent AUTH, but no password", advice{"the URL has a password, but the server has none", "leave it out: $URL"}}, // before Redis 6
	{"LOADING", advice{"the server is still loading its data", "try again when it is done: $CLI info persistence"}},
	{"NOPERM", advice{"this user may not use PING", "let it: $CLI acl setuser USER +ping"}},
	{"DENIED", advice{"the server is in protected mode and accepts only local clients", "on its machine: redis-cli config set requirepass PASSWORD; then use $AUTHURL"}},
	{"max number of clients", advice{"the server has no connection left", "let it have more: $CLI config set maxclients 10000"}},
	{"DB index is out of range", advice{"the server has no such database", "use database 0: $URL/0"}},
}

func refusal(reply string) advice {
	text := strings.TrimPrefix(reply, "ERR ")
	for _, r := range refusals {
		if strings.HasPrefix(text, r.prefix) {
			return r.advice
		}
	}
	return refusesPing
}

// about makes the error. The cause may be nil, if it would only add noise.
func (a advice) about(o *redis.Options, cause error) *OpenError {
	_, port, _ := net.SplitHostPort(o.Addr)
	scheme := "redis://"
	switch {
	case o.Network == "unix":
		scheme = "unix://"
	case o.TLSConfig != nil:
		scheme = "rediss://"
	}
	fill := strings.NewReplacer("$ADDR", o.Addr, "$PORT", port, "$CLI", cliOf(o),
		"$URL", scheme+o.Addr, "$AUTHURL", scheme+":PASSWORD@"+o.Addr)
	e := &OpenError{Hint: fill.Replace(a.hint), Err: errors.New(a.what)}
	if cause != nil {
		e.Err = fmt.Errorf("%s: %w", a.what, cause)
	}
	return e
}

// cliOf is the command that talks to the server by hand, without a password.
func cliOf(o *redis.Options) string {
	switch {
	case o.Network == "unix":
		return "redis-cli -s " + o.Addr
	case o.TLSConfig != nil:
		return "redis-cli --insecure -u rediss://" + o.Addr
	}
	return "redis-cli -u redis://" + o.Addr
}
