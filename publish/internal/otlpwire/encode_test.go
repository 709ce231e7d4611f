package otlpwire

import (
	"encoding/hex"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
)

func say(b []byte) string { return string(b) }

// TestBytes: the proof decodes the same with the official types.
func TestBytes(t *testing.T) {
	t.Parallel()
	m, err := AppendMetric(nil, publish.Sample{Name: "up", Tags: map[string]string{"b": "2", "a": ""},
		Points: []publish.Point{{AtMS: 1, Value: 1}, {AtMS: -1, Value: math.NaN()}}})
	must.Succeed(t, err)
	got := hex.EncodeToString(Request(m, "rota"))
	want := "0a730a180a160a0c736572766963652e6e616d6512060a04726f746112570a060a04726f7461124d0a0275702a470a251940420f000000000021000000000000f03f3a070a016112020a003a080a016212030a01320a1e19000000000000000040013a070a016112020a003a080a016212030a0132"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, s := range []publish.Sample{{Name: "a"}, {Name: "\xff", Points: []publish.Point{{}}},
		{Name: "a", Tags: map[string]string{"k": "\xff"}, Points: []publish.Point{{}}},
		{Name: "a", Tags: map[string]string{"\xff": "v"}, Points: []publish.Point{{}}}} {
		if got, err := AppendMetric(nil, s); err == nil || len(got) > 0 {
			t.Errorf("%+v: no error", s)
		}
	}
}

func TestPartialSuccess(t *testing.T) {
	t.Parallel()
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
	partial = appendText(partial, 2, "too old")
	answer := appendMessage(appendText(nil, 9, "newer"), 1, append(partial, 0x80))
	out := Partial(make([]publish.Sample, 5), answer, say)
	if out.Refused != 2 || len(out.Retry) > 0 || out.Err == nil ||
		out.Err.Error() != "2 points were rejected: too old" {
		t.Errorf("%+v", out)
	}
	if out := Partial(make([]publish.Sample, 1), answer, say); out.Refused != 1 {
		t.Errorf("more points than samples: %+v", out)
	}
	warning := appendMessage(nil, 1, appendText(nil, 2, "slow"))
	if out := Partial(make([]publish.Sample, 1), warning, say); out.Refused != 0 || out.Err != nil {
		t.Errorf("a warning alone: %+v", out)
	}
}

// FuzzRejected: an answer of any bytes is read without a panic.
func FuzzRejected(f *testing.F) {
	f.Add([]byte{0x0a, 2, 8, 3})
	f.Fuzz(func(_ *testing.T, b []byte) { Rejected(b) })
}
