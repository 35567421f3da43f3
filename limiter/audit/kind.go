package audit

// Severity says whether a finding fails an audit.
type Severity string

// The severities.
const (
	Fail Severity = "fail"
	Warn Severity = "warn" // worth a look, and no reason to fail
)

// Code names a kind of finding. Codes are stable.
type Code string

// The codes.
const (
	KeyWithoutTTL  Code = "key-without-ttl"
	TTLTooLong     Code = "ttl-too-long"
	AddressText    Code = "address-text"
	AddressPacked  Code = "address-packed"
	AddressHashed  Code = "address-hashed"
	KnownSecret    Code = "known-secret"
	SlowlogAddress Code = "slowlog-address"

	SlowlogIdentity Code = "slowlog-identity"
	SlowlogOn       Code = "slowlog-on"
	Eviction        Code = "eviction"
	AppendOnly      Code = "append-only-file"
	Snapshots       Code = "snapshots"
	Notifications   Code = "keyspace-notifications"
	Monitor         Code = "monitor-client"
	Replicas        Code = "replicas"
	IsReplica       Code = "is-replica"
	OtherDatabases  Code = "other-databases"
)

// Kind is one row of Kinds.
type Kind struct {
	Code     Code
	Severity Severity
	// Doc says what is wrong and why, in a sentence without a full stop.
	Doc string
	// Hint says what to do.
	Hint string
}

// Kinds is the table of everything that an audit can find. To add a kind, add its
// row and whatever finds it.
var Kinds = []Kind{
	{KeyWithoutTTL, Fail, "keys that never expire keep identities for ever", "set a time to live in the same script that writes the key; if these are no limiter's keys, narrow the sweep with --key-prefix"},
	{TTLTooLong, Fail, "keys outlive what the limiter needs", "expire keys after at most two windows and a second; --max-ttl sets another bound"},
	{AddressText, Fail, "IP addresses in plain text", "store a pseudonym: HMAC-SHA-256 of the address under a random, rotating key"},
	{AddressPacked, Fail, "a given address as a number, bytes or base64, which anybody can turn back", "packing hides nothing: store an HMAC under a random, rotating key"},
	{AddressHashed, Fail, "a given address hashed without a secret: all of IPv4 can be tried in minutes", "use HMAC-SHA-256 under a random, rotating key instead of a bare hash"},
	{KnownSecret, Fail, "a given address under a secret that is empty or everybody's guess", "refuse to start without a secret of at least 32 random bytes, and rotate it"},
	{SlowlogAddress, Fail, "addresses in the slow log, where they outlive every time to live", "SLOWLOG RESET, then pass pseudonyms as keys and arguments"},

	{SlowlogIdentity, Warn, "keys of limiters in the slow log, where pseudonyms outlive their time to live", "SLOWLOG RESET, and config set slowlog-log-slower-than -1 if it is not needed"},
	{SlowlogOn, Warn, "the slow log keeps slow commands with their keys and arguments, past any time to live", "config set slowlog-log-slower-than -1, or SLOWLOG RESET on a schedule"},
	{Eviction, Warn, "a full memory evicts keys of limiters, which gives their clients fresh budgets", "config set maxmemory-policy noeviction, on a Redis of the limiter's own"},
	{AppendOnly, Warn, "the append-only file keeps what was written until it is rewritten, past any time to live", "config set appendonly no: a limiter loses little with its state"},
	{Snapshots, Warn, "snapshots and their backups keep keys past any time to live", `config set save "": a limiter loses little with its state`},
	{Notifications, Warn, "every change is published with the name of its key to whoever subscribes", `config set notify-keyspace-events ""`},
	{Monitor, Warn, "somebody reads every command with its keys and arguments through MONITOR", "find it with client list and end it with client kill"},
	{Replicas, Warn, "replicas hold a copy of every key, with logs and snapshots of their own", "audit them too"},
	{IsReplica, Warn, "this is a replica: its settings and logs are not the primary's", "audit the primary"},
	{OtherDatabases, Warn, "other databases of this server hold keys, which were not swept", "name them in the URL one by one: redis://HOST:PORT/1"},
}

// KindOf finds a row; the zero Kind if there is none.
func KindOf(c Code) Kind {
	for _, k := range Kinds {
		if k.Code == c {
			return k
		}
	}
	return Kind{}
}

// Place says where in a key something was found.
type Place string

// The places.
const (
	InKey    Place = "key"    // its name
	InMember Place = "member" // of a set or sorted set
	InField  Place = "field"  // of a hash or a stream's entry
	InValue  Place = "value"  // of a string, a field, or a list's element
	InScore  Place = "score"
	InServer Place = "" // not in a key: settings and logs
)
