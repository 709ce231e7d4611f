package otlp

import (
	"math"
	"net/http"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/otlpwire"
	"github.com/rota-run/rota/publish/publishtest"
)

// all are the values of a field of bytes.
func all(message []byte, want protowire.Number) (out [][]byte) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		size := protowire.ConsumeFieldValue(field, kind, message[n:])
		if field == want && kind == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(message[n:])
			out = append(out, v)
		}
		message = message[n+size:]
	}
	return out
}

func value(point []byte) float64 {
	for len(point) > 0 {
		field, kind, n := protowire.ConsumeTag(point)
		size := protowire.ConsumeFieldValue(field, kind, point[n:])
		if field == otlpwire.PointDouble {
			v, _ := protowire.ConsumeFixed64(point[n:])
			return math.Float64frombits(v)
		}
		point = point[n+size:]
	}
	return math.NaN()
}

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{Open: func(t *testing.T, s *publishtest.Script) publish.Sink {
		return New(Options{Token: publishtest.Secret, Transport: s.Transport(func(r *http.Request, body []byte) (int, []byte) {
			if r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/x-protobuf" {
				t.Errorf("%s of %s", r.URL.Path, r.Header.Get("Content-Type"))
			}
			scope := otlpwire.BytesOf(otlpwire.BytesOf(body, otlpwire.RequestResourceMetrics), otlpwire.ResourceScopeMetrics)
			for _, m := range all(scope, otlpwire.ScopeMetrics) {
				for _, p := range all(otlpwire.BytesOf(m, otlpwire.MetricGauge), otlpwire.GaugePoints) {
					s.Take(string(otlpwire.BytesOf(m, otlpwire.MetricName)), value(p))
				}
			}
			return http.StatusOK, nil
		})})
	}})
}
