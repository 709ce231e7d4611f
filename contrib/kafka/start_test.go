package kafka

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/work"
)

func TestStart(t *testing.T) {
	t.Parallel()
	at := func(offset int64) *position { return &position{Offset: offset, Epoch: 3, Topic: "new"} }
	b := bounds{topic: "new", start: 10, end: 20}
	for name, c := range map[string]struct {
		config           Config
		saved, committed *position
		grown            bool
		want             string
	}{
		"from the start":               {want: "10 news=true lost=0"},
		"from the end":                 {config: Config{From: FromEnd}, want: "20 news=true lost=0"},
		"found later":                  {config: Config{From: FromEnd}, grown: true, want: "10 news=true lost=0"},
		"saved":                        {config: Config{From: FromEnd}, saved: at(15), committed: at(12), want: "15 news=false lost=0"},
		"saved at the end":             {saved: at(20), want: "20 news=false lost=0"},
		"committed":                    {config: Config{From: FromEnd}, committed: at(12), want: "12 news=true lost=0"},
		"committed before the start":   {committed: at(4), want: "10 news=true lost=6"},
		"before the start":             {saved: at(7), want: "10 news=true lost=3"},
		"before the start, to the end": {config: Config{OutOfRange: ToEnd}, saved: at(7), want: "20 news=true lost=13"},
		"behind the end":               {saved: at(25), want: "20 news=true lost=0"},
		"behind the end, to the start": {config: Config{OutOfRange: ToStart}, saved: at(25),
			want: "10 news=true lost=0"},
		"behind the end, or fail": {config: Config{OutOfRange: Fail}, saved: at(25), want: "has become shorter"},
		"before the start, or fail": {config: Config{OutOfRange: Fail}, saved: at(7),
			want: "lengthen the topic's retention"},
		"of a former topic": {config: Config{OutOfRange: Fail}, saved: &position{Offset: 15, Topic: "old"},
			want: "10 news=true lost=0"},
		"of brokers without IDs before": {saved: &position{Offset: 15}, want: "15 news=false lost=0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := start(c.config.withDefaults(), c.saved, c.committed, b, c.grown)
			got := fmt.Sprintf("%d news=%v lost=%d", out.at.Offset, out.news, out.lost)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || err == nil && out.at.Topic != "new" {
				t.Errorf("got %s, %+v, want %s", got, out.at, c.want)
			}
		})
	}
}

// Wherever a run begins, it is in the topic; what is jumped over is counted, and nothing is jumped over in silence.
func TestStartIsInTheTopic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string) *position {
			if rapid.Bool().Draw(t, "no "+name) {
				return nil
			}
			return &position{Offset: rapid.Int64Range(0, 100).Draw(t, name), Epoch: -1}
		}
		c := Config{
			From:       rapid.SampledFrom([]From{FromStart, FromEnd}).Draw(t, "from"),
			OutOfRange: rapid.SampledFrom([]OutOfRange{Nearest, ToStart, ToEnd}).Draw(t, "rule"),
		}
		b := bounds{start: rapid.Int64Range(0, 100).Draw(t, "start")}
		b.end = b.start + rapid.Int64Range(0, 100).Draw(t, "records")
		saved, committed := some("saved"), some("committed")
		out, err := start(c, saved, committed, b, false)
		if err != nil || out.at.Offset < b.start || out.at.Offset > b.end {
			t.Fatalf("got %+v, %v", out, err)
		}
		had := saved
		if had == nil {
			had = committed
		}
		if had == nil {
			return
		}
		if moved := out.at.Offset - had.Offset; out.lost != max(0, moved) || (moved != 0) != (out.why != "") {
			t.Fatalf("it was at %d, got %+v", had.Offset, out)
		}
	})
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	typ := NewType("loop", Loop{})
	if _, err := typ.New(work.Definition{}); err == nil || !strings.Contains(err.Error(), "Take is missing") {
		t.Errorf("got %v", err)
	}
	for config, said := range stories.Rows(t, "testdata/configs.txt") {
		_, err := NewType("loop", Loop{Take: takeNone}).New(work.Definition{Config: []byte(config)})
		var ce *work.ConfigError
		if good := len(said.Want) == 0; good != (err == nil) || !good && (!said.In(err.Error()) || !errors.As(err, &ce)) {
			t.Errorf("%s: got %v, want %q", config, err, said.Want)
		}
	}
}
