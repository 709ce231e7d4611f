package supervisor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestKeptRounds: what is kept of rounds says when the last one was and the next one is, and no more than that.
func TestKeptRounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 14, 30, 20, 0, time.UTC)
	clock := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return at.Format("15:04:05")
	}
	for definition, want := range map[string]string{
		`{"every_ms":3600000} 14:02:10`:    "14:02:10 15:02:10",
		`{"every_ms":3600000} 09:02:10`:    "09:02:10 15:02:10", // nobody could run it
		`{"every_ms":3600000} -`:           "- -",
		`{"every_ms":30000} 14:02:10`:      "- -", // too short to be kept
		`{"cron":"0_*_*_*_*"} 14:00:00`:    "14:00:00 15:00:00",
		`{"cron":"0_*_*_*_*"} 13:17:04`:    "- 15:00:00", // counts from there, and has never run
		`{"cron":"0_*_*_*_*"} -`:           "- 15:00:00",
		`{"every_ms":"x"} 14:00:00`:        "- -",
		`{"every_ms":3600000} 14:31:00`:    "14:31:00 15:31:00", // by a clock that is ahead
		`{"cron":"0_*_*_*_nonsense"} none`: "",
	} { // order-free: each by itself
		docs, spec, at := memory.New().Open(), "", ""
		_, err := fmt.Sscan(definition, &spec, &at)
		must.Succeed(t, err)
		if last, err := time.Parse("15:04:05", at); err == nil {
			last = time.Date(2026, 11, 25, last.Hour(), last.Minute(), last.Second(), 0, time.UTC)
			text := fmt.Sprintf(`{"partition":"x","token":3,"round_ms":%d}`, last.UnixMilli())
			_, err := docs.Put(t.Context(), store.Doc{Key: "position/x", Value: []byte(text)})
			must.Succeed(t, err)
		}
		task := &cluster.TaskSpec{Type: "noop", Definition: []byte(spaced(spec))}
		rounds, err := supervisor.KeptRounds(t.Context(), docs, "x", task, now)
		if (err != nil) != (want == "") || err == nil && clock(rounds.Last)+" "+clock(rounds.Next) != want {
			t.Errorf("%s: %s %s, %v; want %s", definition, clock(rounds.Last), clock(rounds.Next), err, want)
		}
	}
}

func spaced(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '_' && s[i-1] != 'y' {
			b[i] = ' '
		}
	}
	return string(b)
}
