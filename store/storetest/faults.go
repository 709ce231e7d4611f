package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/store"
)

// Link is the path of one handle to its server, which a suite can break; a TCP proxy is one. Methods return when their effect
// is in place, and faults last until Heal.
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
	// Crash kills the server with SIGKILL, starts it again with its data, and returns when it answers. Only Crashes needs it; then the server
	// must be used by this store only.
	Crash func(t *testing.T)
	// TTL is for sessions that must expire; zero: 3 s. Use the shortest one that the store grants exactly.
	TTL time.Duration
}

// OpenThrough makes an empty store and returns the paths to it. Clean-up is registered with t, as for Open.
type OpenThrough[S any] func(t *testing.T) Reach[S]

// Faults is the suite of all contracts when the path to the server breaks. It takes about a minute, mostly waiting for sessions to expire and for
// clients to reconnect.
func Faults[S faults.Full](t *testing.T, open OpenThrough[S]) {
	t.Run("docs", func(t *testing.T) { t.Parallel(); DocsFaults(t, open) })
	t.Run("log", func(t *testing.T) { t.Parallel(); LogFaults(t, open) })
	t.Run("watch", func(t *testing.T) { t.Parallel(); WatchFaults(t, open) })
	t.Run("sessions", func(t *testing.T) { t.Parallel(); SessionFaults(t, open) })
	runFaultRules(t, open, []faultRule[S]{{"never sent", unsent[S]}})
}

// Crashes is the part of Faults that kills the server. It needs a Reach with Crash.
func Crashes[S store.Full](t *testing.T, open OpenThrough[S]) {
	runFaultRules(t, open, []faultRule[S]{{"kept", keptCrash[S]}, {"emptied", emptiedCrash[S]}})
}

// faultRule is one rule of a contract about faults.
type faultRule[S any] struct {
	name string
	run  func(t *testing.T, b *bench[S])
}

// bench is what a rule works with: somebody whose link breaks, and a witness whose link does not.
type bench[S any] struct {
	ctx     context.Context
	reach   Reach[S]
	through S
	link    Link
	witness S
	strays  int // errors that did not wrap the cause of a ctx that had ended
}

func runFaultRules[S any](t *testing.T, open OpenThrough[S], rules []faultRule[S]) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := &bench[S]{ctx: deadlineOf(t, 4*patience), reach: open(t)}
			if b.reach.TTL == 0 {
				b.reach.TTL = 3 * time.Second
			}
			b.through, b.link = b.reach.Through(t)
			b.witness = b.reach.Direct(t)
			r.run(t, b)
		})
	}
}

func deadlineOf(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func (b *bench[S]) heal(t *testing.T) {
	t.Helper()
	succeed(t, "heal the link", b.link.Heal())
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
	until(grace, func() bool { return false }) // waits: by then it waits for the answer to its hello
}

// moment is a point in a call at which all connections are reset; they can be made again at once.
type moment struct {
	name    string
	replies bool
	bytes   int64
}

// moments are those at which a request or an answer is cut: in its header, in its middle, behind it.
func moments() []moment {
	return []moment{
		{"request 1", false, 1}, {"request 12", false, 12}, {"request 48", false, 48}, {"request 150", false, 150},
		{"request 600", false, 600}, {"request 3000", false, 3000},
		{"reply 1", true, 1}, {"reply 9", true, 9}, {"reply 30", true, 30}, {"reply 80", true, 80}, {"reply 200", true, 200},
	}
}

// tag is a name that fits into a key.
func (m moment) tag() string { return strings.ReplaceAll(m.name, " ", "-") }

func (m moment) arm(l Link) {
	if m.replies {
		l.CutReplies(m.bytes)
		return
	}
	l.CutRequests(m.bytes)
}
