package wiretest

import (
	"math"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rota-run/rota/publish/internal/otlpwire"
)

// All returns the values of a field of bytes.
func All(message []byte, want protowire.Number) (out [][]byte) {
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

// Points calls take for each point of an OTLP request.
func Points(request []byte, take func(name string, value float64)) {
	scope := otlpwire.BytesOf(otlpwire.BytesOf(request, otlpwire.RequestResourceMetrics), otlpwire.ResourceScopeMetrics)
	for _, m := range All(scope, otlpwire.ScopeMetrics) {
		for _, p := range All(otlpwire.BytesOf(m, otlpwire.MetricGauge), otlpwire.GaugePoints) {
			take(string(otlpwire.BytesOf(m, otlpwire.MetricName)), double(p))
		}
	}
}

func double(point []byte) float64 {
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

// RoundTrip is a transport that is a function.
type RoundTrip func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
