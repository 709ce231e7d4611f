package elect_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/protocol/elect"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

const silence = time.Second

func TestMoves(t *testing.T) {
	t.Parallel()
	var none elect.Election
	vacant := none.Read(elect.Seen{}, 10)
	other := vacant.Read(elect.Seen{Version: "1", Heartbeat: "pulse/b"}, 10)
	silent := other.Probed("pulse/b", "7", 0, 10, 10).Probed("pulse/b", "7", 0, 10+protocol.Instant(silence),
		12+protocol.Instant(silence))
	garbage := none.Read(elect.Seen{Version: "1"}, 10)
	for _, c := range []struct {
		name string
		e    elect.Election
		turn time.Duration
		now  protocol.Instant
		want elect.Move
	}{
		{"nothing is known", none, 0, 10, elect.Look},
		{"no document", vacant, 0, 10, elect.Claim},
		{"no document again, others first", other.Read(elect.Seen{}, 11), 5, 15, elect.Wait},
		{"no document still, and the others let it be", vacant.Read(elect.Seen{}, 11), 5, 15, elect.Claim},
		{"another leads", other, 0, 20, elect.Probe},
		{"its heartbeat was silent", silent, 0, 20, elect.Remove},
		{"its heartbeat is gone", other.Probed("pulse/b", "", 0, 11, 12), 0, 12, elect.Remove},
		{"the heartbeat of another is gone", other.Probed("pulse/c", "", 0, 11, 12), 0, 12, elect.Probe},
		{"we lead", none.Read(elect.Seen{Version: "1", Heartbeat: "pulse/a"}, 10), 0, 20, elect.Lead},
		{"a hint", silent.Stale(), 0, 20, elect.Look},
		{"garbage", garbage, 0, 20, elect.Look},
		{"garbage, and a heartbeat of nobody is gone", garbage.Probed("", "", 0, 11, 12), 0, 12, elect.Look},
		{"garbage that stays", garbage.Read(elect.Seen{Version: "1"}, 10+protocol.Instant(silence)), 0, 20,
			elect.Remove},
		{"other garbage", garbage.Read(elect.Seen{Version: "2"}, 10+protocol.Instant(silence)), 0, 20, elect.Look},
	} {
		if got := c.e.Next("pulse/a", c.turn, silence, c.now); got != c.want {
			t.Errorf("%s: move %d, want %d", c.name, got, c.want)
		}
	}
	if garbage.Next("", 0, silence, 20) == elect.Lead {
		t.Error("a candidate without a heartbeat leads by garbage")
	}
}

// A holder whose heartbeat changes in time is never removed, whatever the order of looks; one that has died is removed
// in the end.
func TestOnlyTheDeadAreRemoved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dies := rapid.Int64Range(0, 20*int64(silence)).Draw(t, "dies")
		beat := func(at int64) store.Version { return store.Version(fmt.Sprint(min(at, dies) / (int64(silence) / 3))) }
		var e elect.Election
		now := int64(1)
		for {
			switch e.Next("pulse/a", 0, silence, protocol.Instant(now)) {
			case elect.Look:
				e = e.Read(elect.Seen{Version: "1", Heartbeat: "pulse/b"}, protocol.Instant(now))
			case elect.Probe:
				sent, read := now, now+rapid.Int64Range(0, int64(silence)).Draw(t, "read")
				now = read + rapid.Int64Range(0, int64(silence)).Draw(t, "answered")
				e = e.Probed("pulse/b", beat(read), 0, protocol.Instant(sent), protocol.Instant(now))
			case elect.Remove:
				if now < dies {
					t.Fatalf("removed at %d while it lives until %d", now, dies)
				}
				return
			default:
				t.Fatal("a move that makes no sense")
			}
			if rapid.IntRange(0, 4).Draw(t, "hint") == 0 {
				e = e.Stale()
			}
			if now > dies+100*int64(silence) {
				t.Fatal("it is never removed")
			}
			now++
		}
	})
}
