package replica_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// idler is a member that watches another one, and the other one's heartbeat. Nothing happens but renewals.
type idler struct {
	*bench
	heartbeat int           // how often the other one has renewed
	ttl       time.Duration // that its heartbeat states; 0: none
	reads     int
	looks     int
	looked    map[string]int // the same, by heartbeat
	lists     int
	blind     bool // lists leave out all heartbeats
	appends   int
}

const otherHeartbeat = protocol.HeartbeatPrefix + "o/n-0"

func newIdler(t *testing.T, h member.Hints) *idler {
	b := newBench(t)
	b.state, b.fx = replica.NewState(benchParams(h)), nil
	d := &idler{bench: b, ttl: benchTTL, looked: make(map[string]int)}
	d.tick()
	v := d.state.Value()
	d.add(cluster.Entry{
		Writer: "o", Seq: 1, BaseIndex: v.Index(), BaseChain: v.Chain(),
		Commands: []cluster.Command{cluster.PrepareJoin{Member: "o", Heartbeat: otherHeartbeat, Weight: 100}},
	})
	d.step(member.Hinted{Now: d.now})
	d.answer()
	if m, ok := d.state.Value().Member("o"); !ok || m.State != cluster.MemberJoined {
		t.Fatalf("the other member has not joined: %+v; phase %d, %d records, index %s", m, d.state.Is, len(d.log),
			d.state.Value().Index())
	}
	return d
}

func (d *idler) tick() {
	d.step(member.Woken{Now: d.now})
	d.answer()
}

// answer makes all calls that the member wants to make.
func (d *idler) answer() {
	for len(d.fx) > 0 {
		e := d.fx[0]
		d.fx = d.fx[1:]
		switch e := e.(type) {
		case member.ReadLog:
			d.reads++
			d.read()
		case replica.CheckHeartbeat:
			d.looks++
			d.looked[e.Key]++
			d.step(replica.HeartbeatSeen{Now: d.now, Key: e.Key, Version: d.version(), TTL: d.ttl})
		case replica.ListHeartbeats:
			d.lists++
			var heartbeats []member.Heartbeat
			if !d.blind {
				heartbeats = []member.Heartbeat{{Key: otherHeartbeat, Version: d.version(), TTL: d.ttl}}
			}
			d.step(replica.HeartbeatsListed{Now: d.now, Heartbeats: heartbeats})
		case member.Renew:
			d.step(member.Renewed{Now: d.now, Sent: d.now, Key: e.Key, Outcome: outbox.Done})
		case member.Append:
			d.appends++
			index := d.add(e.Entry)
			d.step(member.Appended{Now: d.now, Seq: e.Entry.Seq, Outcome: outbox.Done, Index: cluster.Index(index),
				Data: d.log[index-1].Data})
		}
	}
}

func (d *idler) version() store.Version { return store.Version(fmt.Sprint("v", d.heartbeat)) }

// idle lets ten TTLs pass, in which the other member renews its heartbeat, and the store hints at that if it does.
func (d *idler) idle(hints bool) {
	d.reads, d.looks, d.lists, d.appends = 0, 0, 0, 0
	const steps = 60 // in a TTL
	every := int(cmp.Or(d.ttl, benchTTL) * steps / 3 / benchTTL)
	for i := range 10 * steps {
		d.pass(benchTTL / steps)
		d.tick()
		if i%every == 0 {
			d.heartbeat++
			if hints {
				d.step(member.Hinted{Now: d.now, Prefix: protocol.HeartbeatPrefix})
				d.answer()
			}
		}
	}
}

// TestWhatTheStoreTellsOfIsSeldomAskedFor counts the calls of a member that has nothing to do.
func TestWhatTheStoreTellsOfIsSeldomAskedFor(t *testing.T) {
	t.Parallel()
	d := newIdler(t, member.Hints{Log: true, Ends: true, Vanish: true})
	d.idle(true)
	if d.reads > 26 || d.looks > 31 || d.lists > 11 || d.appends != 0 {
		t.Errorf("in ten TTLs %d reads, %d looks, %d lists, %d appends; want at most 26, 31, 11 and none", d.reads,
			d.looks, d.lists, d.appends)
	}
	quiet := newIdler(t, member.Hints{Log: true, Ends: true})
	quiet.idle(false)
	if quiet.reads > 26 || quiet.looks > 31 || quiet.lists > 21 || quiet.appends != 0 {
		t.Errorf("where renewals are no hints %d reads, %d looks, %d lists, %d appends; want at most 26, 31, 21 and none",
			quiet.reads, quiet.looks, quiet.lists, quiet.appends)
	}
	poor := newIdler(t, member.Hints{})
	poor.idle(false)
	if poor.reads < 140 || poor.looks < 140 || poor.lists < 19 || poor.appends != 0 {
		t.Errorf("without hints %d reads, %d looks, %d lists, %d appends; want at least 140, 140, 19 and none",
			poor.reads, poor.looks, poor.lists, poor.appends)
	}
}

// TestALookSettlesWhatAListLeftOut: members joined while the heartbeats were being listed. Each is looked at once for
// that, not until the next list, which may be minutes away where all members take turns.
func TestALookSettlesWhatAListLeftOut(t *testing.T) {
	t.Parallel()
	d := newIdler(t, member.Hints{Log: true, Ends: true, Vanish: true})
	joiners := []string{"p", "q", "r"}
	for i, name := range joiners {
		v := d.state.Value()
		d.add(cluster.Entry{
			Writer: "o", Seq: uint64(i + 2), BaseIndex: v.Index(), BaseChain: v.Chain(),
			Commands: []cluster.Command{cluster.PrepareJoin{Member: cluster.MemberID(name),
				Heartbeat: protocol.HeartbeatPrefix + name + "/n-0", Weight: 100}},
		})
		d.step(member.Hinted{Now: d.now})
		d.answer()
	}
	d.blind = true
	for lists := d.lists; d.lists == lists; d.tick() {
		d.pass(benchTTL / 20)
	}
	clear(d.looked)
	for range 20 { // a TTL: less than the time between two lists
		d.pass(benchTTL / 20)
		d.tick()
	}
	settled := 0
	for _, name := range joiners {
		if n := d.looked[protocol.HeartbeatPrefix+name+"/n-0"]; n <= 1 {
			settled++
		}
	}
	if settled < len(joiners)-1 { // one may be the heartbeat that this member watches
		t.Errorf("looks in a TTL after a list that left all out: %v, want at most one at each that is not watched",
			d.looked)
	}
}

// TestASilentHeartbeatIsFoundInTime: with hints of renewals, of ends alone, and of nothing, though looks are rare where
// there are some, a member that falls silent is reported when its time is over, and not before. Its time is that of its
// own TTL, by which it holds its lease, if its heartbeat states one.
func TestASilentHeartbeatIsFoundInTime(t *testing.T) {
	t.Parallel()
	for hints, told := range map[string]bool{"renewals": true, "ends": true, "": false} {
		for _, stated := range []time.Duration{0, benchTTL, benchTTL / 2, 3 * benchTTL} {
			d := newIdler(t, member.Hints{Log: told, Ends: told, Vanish: told && hints == "renewals"})
			d.ttl = stated
			d.idle(hints == "renewals")
			d.heartbeat++ // the last one
			if hints == "renewals" {
				d.step(member.Hinted{Now: d.now, Prefix: protocol.HeartbeatPrefix})
			}
			last := d.now
			d.answer()
			for d.appends == 0 && d.now.Sub(last) < 5*benchTTL {
				d.pass(benchTTL / 1000)
				d.tick()
			}
			late := benchTTL / 500
			switch hints {
			case "ends":
				late += benchTTL / 20 // until it is seen
			case "":
				late += benchTTL/60 + benchTTL/20/4 // until it is seen: time passes in steps here
			}
			silence := cmp.Or(stated, benchTTL) * 105 / 100
			if took := d.now.Sub(last); took < silence || took > silence+late {
				t.Errorf("hints of %q, TTL %s: reported after %s, want %s and at most %s more", hints, stated, took,
					silence, late)
			}
		}
	}
}
