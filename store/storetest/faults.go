package storetest

import (
	"cmp"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/store"
)

// Link is the path of one handle to its server, which a suite can break; a TCP proxy is one. Methods return when their
// effect is in place, and faults last until Heal.
type Link interface {
	Cut()                                // reset all connections; new ones fail
	Reset()                              // reset all connections, once; present faults apply to new ones
	Refuse()                             // refuse new connections; existing ones stay
	Stall()                              // hold all bytes, close nothing
	StallReplies()                       // hold what the server sends
	DropReplies()                        // drop what the server sends, close nothing
	CutRequests(n int64) <-chan struct{} // let n more bytes pass to the server, then reset all connections, once, and close the channel
	CutReplies(n int64) <-chan struct{}  // the same for bytes from the server
	Delay(d, jitter time.Duration)       // delay all bytes, in their order
	Heal() error                         // end all faults
}

// Reach is one empty store on a server, and the paths to it.
type Reach[S any] struct {
	// Direct opens a handle without faults.
	Direct func(t *testing.T) S
	// Through opens a handle whose connections all go through its own link.
	Through func(t *testing.T) (S, Link)
	// Crash kills the server with SIGKILL, starts it again with its data, and returns when it answers. Only Crashes
	// needs it; then the server must be used by this store only.
	Crash func(t *testing.T)
	// TTL is for sessions that must expire; zero: 3 s. Use the shortest one that the store grants exactly.
	TTL time.Duration
}

// OpenThrough makes an empty store and returns the paths to it. Clean-up is registered with t, as for Open.
type OpenThrough[S any] func(t *testing.T) Reach[S]

// Faults is the suite of all contracts when the path to the server breaks. It takes about a minute, mostly waiting for
// sessions to expire and for clients to reconnect.
func Faults[S faults.Full](t *testing.T, open OpenThrough[S]) {
	t.Run("docs", func(t *testing.T) { t.Parallel(); DocsFaults(t, open) })
	t.Run("log", func(t *testing.T) { t.Parallel(); LogFaults(t, open) })
	t.Run("watch", func(t *testing.T) { t.Parallel(); WatchFaults(t, open) })
	t.Run("sessions", func(t *testing.T) { t.Parallel(); SessionFaults(t, open) })
	runFaults(t, open, faultRule[store.Full]{"never sent", unsent})
}

// DocsFaults is the suite of store.Docs when the path to the server breaks.
func DocsFaults[S store.Docs](t *testing.T, open OpenThrough[S]) {
	runFaults(t, open, faultRule[store.Docs]{"cut in the middle", docsCut},
		faultRule[store.Docs]{"works again", docsAgain},
		faultRule[store.Docs]{"linearizable", func(b *bench[store.Docs]) {
			s := newStorm(b.test)
			b.blow(s, docsCalls(s.history, 6))
			s.checkDocs(b.test, b.witness)
		}})
}

// LogFaults is the suite of store.Log when the path to the server breaks.
func LogFaults[S store.Log](t *testing.T, open OpenThrough[S]) {
	runFaults(t, open, faultRule[store.Log]{"cut in the middle", logCut}, faultRule[store.Log]{"works again", logAgain},
		faultRule[store.Log]{"snapshot cut in the middle", snapshotCut},
		faultRule[store.Log]{"linearizable", func(b *bench[store.Log]) {
			s := newStorm(b.test)
			b.blow(s, logCalls(s.history))
			s.checkLog(b.test, b.witness)
		}})
}

// WatchFaults is the suite of store.Watcher and store.LogWatcher when the path to the server breaks: a watch survives
// it, and sends a hint for the changes meanwhile after the link has healed.
func WatchFaults[S watchedStore](t *testing.T, open OpenThrough[S]) {
	rules := []faultRule[watchedStore]{{"hint after a reset", watchReset}}
	for _, o := range outages() {
		rules = append(rules, faultRule[watchedStore]{"hint after the link was " + o.name,
			func(b *bench[watchedStore]) { watchOutage(b, o) }})
	}
	runFaults(t, open, rules...)
}

// SessionFaults is the suite of store.Sessions when the path to the server breaks.
func SessionFaults[S DocsWithSessions](t *testing.T, open OpenThrough[S]) {
	rules := []faultRule[DocsWithSessions]{
		{"cut in the middle", sessionCut}, {"half open", sessionHalfOpen},
		{"close while half open", sessionCloseHalfOpen},
	}
	for name, breaks := range map[string]func(Link){ // order-free: each is a rule of its own
		"cut off": Link.Cut, "half open": Link.Stall, "replies are lost": Link.DropReplies, "silent": silence,
	} {
		rules = append(rules, faultRule[DocsWithSessions]{"expires while " + name,
			func(b *bench[DocsWithSessions]) { expires(b, breaks) }})
	}
	for name, o := range map[string]struct { // order-free: each is a rule of its own
		breaks func(Link)
		part   time.Duration // of the ttl, for which it is broken
	}{"reset": {Link.Reset, 0}, "short cut": {Link.Cut, 8}, "short silence": {Link.Stall, 4}} {
		rules = append(rules, faultRule[DocsWithSessions]{"survives a " + name,
			func(b *bench[DocsWithSessions]) { survives(b, o.breaks, o.part) }})
	}
	runFaults(t, open, rules...)
}

// Crashes is the part of Faults that kills the server. It needs a Reach with Crash.
func Crashes[S store.Full](t *testing.T, open OpenThrough[S]) {
	runFaults(t, open, faultRule[store.Full]{"kept", keptCrash}, faultRule[store.Full]{"emptied", emptiedCrash})
}

// faultRule is one rule of a contract about faults.
type faultRule[C any] struct {
	name string
	run  func(b *bench[C])
}

// bench is what a rule works with: somebody whose link breaks, and a witness whose link does not.
type bench[C any] struct {
	*test
	through, witness C
	link             Link
	direct           func() C         // another witness
	another          func() (C, Link) // another one whose link breaks
	crash            func()
	ttl              time.Duration
}

func runFaults[S, C any](t *testing.T, open OpenThrough[S], rules ...faultRule[C]) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b, reach := &bench[C]{test: newTest(t, 4*patience)}, open(t)
			b.ttl = cmp.Or(reach.TTL, 3*time.Second)
			b.direct = func() C { return any(reach.Direct(t)).(C) }
			b.another = func() (C, Link) {
				s, link := reach.Through(t)
				return any(s).(C), link
			}
			b.crash = func() {
				if reach.Crash == nil {
					t.Fatal("Reach.Crash is nil: give a way to kill the server and to start it again")
				}
				reach.Crash(t)
			}
			b.through, b.link = b.another()
			b.witness = b.direct()
			r.run(b)
		})
	}
}

func (b *bench[C]) heal() {
	b.Helper()
	b.succeed("heal the link", b.link.Heal())
}

// outage is a way in which a link breaks and stays broken.
type outage struct {
	name string
	make func(Link)
}

func outages() []outage {
	return []outage{
		{"cut", Link.Cut},
		{"refused", func(l Link) { l.Refuse(); l.Cut() }},
		{"silent", silence},
		{"stall", Link.Stall},
		{"replies stall", Link.StallReplies},
		{"replies lost", Link.DropReplies},
	}
}

// silence leaves the client alone with a new connection on which it hears nothing.
func silence(l Link) {
	l.Stall()
	l.Reset()
	pass(grace) // by then it waits for the answer to its hello
}

// moments are those at which a request or an answer is cut, after so many bytes: in its header, in its middle, behind
// it. All connections are reset, and can be made again at once.
func moments() (all []outage) {
	for name, n := range map[string]int64{
		"request-1": 1, "request-12": 12, "request-48": 48, "request-150": 150, "request-600": 600,
		"request-3000": 3000,
	} {
		all = append(all, outage{name, func(l Link) { l.CutRequests(n) }})
	}
	for name, n := range map[string]int64{"reply-1": 1, "reply-9": 9, "reply-30": 30, "reply-80": 80,
		"reply-200": 200} {
		all = append(all, outage{name, func(l Link) { l.CutReplies(n) }})
	}
	return all
}
