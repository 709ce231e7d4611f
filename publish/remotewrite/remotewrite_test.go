package remotewrite

import (
	"encoding/hex"
	"math"
	"net/http"
	"testing"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/wiretest"
	"github.com/rota-run/rota/publish/publishtest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/api/v1/write"} {
		publishtest.Run(t, publishtest.Rig{Open: func(t *testing.T, s *publishtest.Script) publish.Sink {
			return New(Options{Token: publishtest.Secret, Path: path,
				Transport: s.Transport(func(r *http.Request, body []byte) (int, []byte) {
					if r.URL.Path != "/api/v1/write" || r.Header.Get("Content-Encoding") != "snappy" ||
						r.Header.Get("Authorization") != "Bearer "+publishtest.Secret ||
						r.Header.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" {
						t.Errorf("%s with %v", r.URL.Path, r.Header)
					}
					plain, err := s2.Decode(nil, body)
					if err != nil {
						t.Error(err)
					}
					for _, series := range wiretest.All(plain, requestSeries) {
						name := wiretest.All(wiretest.All(series, seriesLabels)[0], labelValue)[0]
						for _, p := range wiretest.All(series, seriesSamples) {
							bits, _ := protowire.ConsumeFixed64(p[1:])
							s.Take(string(name), math.Float64frombits(bits))
						}
					}
					return http.StatusNoContent, nil
				})})
		}})
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	got, err := appendSeries(nil,
		publish.Sample{Name: "host.load", Tags: map[string]string{"zone": "a", "__name__": "x", "Host:name": "b",
			"none": "", "9st": "c"}, Points: []publish.Point{{AtMS: 300, Value: 1}, {AtMS: -1, Value: 2}}})
	want := "0a610a0e0a09486f73745f6e616d651201620a090a045f3973741201630a150a085f5f6e616d655f5f1209686f73745f6c6f61640a090a047a6f6e65120161120c09000000000000f03f10ac02121409000000000000004010ffffffffffffffffff01"
	if hex.EncodeToString(got) != want || err != nil {
		t.Errorf("got  %x %v\nwant %s", got, err, want)
	}
	for _, s := range []publish.Sample{{Name: "a"}, {Points: []publish.Point{{}}},
		{Name: "a", Tags: map[string]string{"k": "\xff"}, Points: []publish.Point{{}}}} {
		if got, err := appendSeries(nil, s); err == nil || len(got) > 0 {
			t.Errorf("%+v: no error", s)
		}
	}
}

// FuzzLabels: the labels are sorted, without a duplicate, and of names that Prometheus takes.
func FuzzLabels(f *testing.F) {
	f.Add("host.load", "a-b", "x", "a_b", "y")
	f.Fuzz(func(t *testing.T, name, k1, v1, k2, v2 string) {
		series, err := appendSeries(nil, publish.Sample{Name: name, Tags: map[string]string{k1: v1, k2: v2},
			Points: []publish.Point{{}}})
		if err != nil {
			return
		}
		before, names := "", 0
		for _, l := range wiretest.All(wiretest.All(series, requestSeries)[0], seriesLabels) {
			label, v := string(wiretest.All(l, labelName)[0]), string(wiretest.All(l, labelValue)[0])
			if label <= before || clean(label, false) != label || v == "" {
				t.Errorf("label %q=%q after %q", label, v, before)
			}
			if before = label; label == nameLabel {
				names++
			}
		}
		if names != 1 {
			t.Errorf("%d names", names)
		}
	})
}
