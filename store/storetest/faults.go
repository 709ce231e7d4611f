package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// Link is the way of one handle to its server, of which a suite breaks what it wants; a TCP proxy is one. Methods return once what they say
// holds, and what they broke stays broken until Heal.
type Link interface {
	Cut()                                // reset all connections; new ones come to nothing
	Reset()                              // reset all connections, once; new ones are under the faults that hold
	Refuse()                             // refuse new connections; those that exist stay
	Stall()                              // hold all bytes, close nothing
	StallReplies()                       // hold what the server sends
	DropReplies()                        // swallow what the server sends, close nothing
	CutRequests(n int64) <-chan struct{} // let n more bytes pass to the server, then reset all connections, once, and close the channel
	CutReplies(n int64) <-chan struct{}  // the same for bytes of the server
	Delay(d, jitter time.Duration)       // let all bytes arrive later, in their order
	Heal() error                         // end all faults
}

// Reach is one empty store on a server, and the ways to it.
type Reach[S any] struct {
	// Direct opens a handle that no fault meets.
	Direct func(t *testing.T) S
	// Through opens a handle all of whose connections go over a link that no other handle has.
	Through func(t *testing.T) (S, Link)
	// Crash kills the server with SIGKILL, starts it again with its data, and returns when it answers. Only Crashes needs it; then the server
	// belongs to this store alone.
	Crash func(t *testing.T)
	// TTL is for sessions that are to expire; zero: 3 s. Give the shortest that the store grants as it was asked for.
	TTL time.Duration
}

// OpenThrough makes an empty store and tells the ways to it. Clean-up is registered with t, as for Open.
type OpenThrough[S any] func(t *testing.T) Reach[S]

// Faults is the suite of all contracts when the way to the server breaks. It takes a minute or so, most of it waiting for sessions to expire and for
// clients to connect again.
func Faults[S Full](t *testing.T, open OpenThrough[S]) {
	t.Run("docs", func(t *testing.T) { t.Parallel(); DocsFaults(t, open) })
	t.Run("log", func(t *testing.T) { t.Parallel(); LogFaults(t, open) })
	t.Run("watch", func(t *testing.T) { t.Parallel(); WatchFaults(t, open) })
	t.Run("sessions", func(t *testing.T) { t.Parallel(); SessionFaults(t, open) })
}

// Crashes is the part of Faults for which the server is killed. It wants a Reach with Crash.
func Crashes[S store.Full](t *testing.T, open OpenThrough[S]) {
	runFaultRules(t, open, []faultRule[S]{{"docs", docsCrash[S]}, {"log", logCrash[S]}})
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
	if err := b.link.Heal(); err != nil {
		t.Fatalf("heal the link: %v", err)
	}
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

// moments are spread over what a small call sends and gets: in the header of a frame, in the request, in its value, in the answer.
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
