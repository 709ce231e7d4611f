package otlpwire

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rota-run/rota/publish"
)

var (
	errPoints = errors.New("it has no points")
	errUTF8   = errors.New("its name or a tag is not UTF-8")
)

// The numbers of fields of the messages of OTLP 1.x.
const (
	RequestResourceMetrics = 1 // ExportMetricsServiceRequest
	resourceResource       = 1 // ResourceMetrics
	ResourceScopeMetrics   = 2
	resourceAttributes     = 1 // Resource
	scopeScope             = 1 // ScopeMetrics
	ScopeMetrics           = 2
	scopeName              = 1 // InstrumentationScope
	MetricName             = 1 // Metric
	MetricGauge            = 5
	GaugePoints            = 1 // Gauge
	PointTime              = 3 // NumberDataPoint
	PointDouble            = 4
	PointAttributes        = 7
	PointFlags             = 8
	keyValueKey            = 1 // KeyValue
	keyValueValue          = 2
	anyString              = 1 // AnyValue
	noRecordedValue        = 1 // DataPointFlags
)

func appendMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}

func appendText(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), text)
}

func appendAttribute(to []byte, field protowire.Number, key, value string) []byte {
	pair := appendText(nil, keyValueKey, key)
	return appendMessage(to, field, appendMessage(pair, keyValueValue, appendText(nil, anyString, value)))
}

// AppendMetric writes a sample as a metric of a scope.
func AppendMetric(to []byte, s publish.Sample) ([]byte, error) {
	if len(s.Points) == 0 {
		return to, errPoints
	}
	good := utf8.ValidString(s.Name)
	var attributes []byte
	for _, k := range slices.Sorted(maps.Keys(s.Tags)) {
		good = good && utf8.ValidString(k) && utf8.ValidString(s.Tags[k])
		attributes = appendAttribute(attributes, PointAttributes, k, s.Tags[k])
	}
	if !good {
		return to, errUTF8
	}
	var gauge []byte
	for _, p := range s.Points {
		var point []byte
		point = protowire.AppendTag(point, PointTime, protowire.Fixed64Type)
		point = protowire.AppendFixed64(point, uint64(max(p.AtMS, 0))*1_000_000)
		if math.IsNaN(p.Value) {
			point = protowire.AppendTag(point, PointFlags, protowire.VarintType)
			point = protowire.AppendVarint(point, noRecordedValue)
		} else {
			point = protowire.AppendTag(point, PointDouble, protowire.Fixed64Type)
			point = protowire.AppendFixed64(point, math.Float64bits(p.Value))
		}
		gauge = appendMessage(gauge, GaugePoints, append(point, attributes...))
	}
	metric := appendText(nil, MetricName, s.Name)
	return appendMessage(to, ScopeMetrics, appendMessage(metric, MetricGauge, gauge)), nil
}

// Request wraps the metrics of a batch.
func Request(metrics []byte, service string) []byte {
	scope := appendMessage(nil, scopeScope, appendText(nil, scopeName, "rota"))
	resource := appendMessage(nil, resourceResource, appendAttribute(nil, resourceAttributes, "service.name", service))
	return appendMessage(nil, RequestResourceMetrics,
		appendMessage(resource, ResourceScopeMetrics, append(scope, metrics...)))
}

// Rejected reads the partial success of an answer: how many points were rejected, and why.
func Rejected(answer []byte) (points uint64, why string) {
	partial := BytesOf(answer, 1)
	for len(partial) > 0 {
		field, kind, n := protowire.ConsumeTag(partial)
		if n < 0 {
			return points, why
		}
		partial = partial[n:]
		switch {
		case field == 1 && kind == protowire.VarintType:
			points, n = protowire.ConsumeVarint(partial)
		case field == 2 && kind == protowire.BytesType:
			why, n = protowire.ConsumeString(partial)
		default:
			n = protowire.ConsumeFieldValue(field, kind, partial)
		}
		if n < 0 {
			return points, why
		}
		partial = partial[n:]
	}
	return points, why
}

// Partial is the outcome of a batch that was taken, by the bytes of the answer; say makes text of a server fit for
// people.
func Partial(batch []publish.Sample, answer []byte, say func([]byte) string) publish.Outcome {
	points, why := Rejected(answer)
	if points == 0 {
		return publish.Outcome{}
	}
	return publish.Refuse(batch[:min(points, uint64(len(batch)))],
		fmt.Errorf("%d points were rejected: %s", points, say([]byte(why))))
}

// BytesOf is the field of a message that is bytes; nil where there is none.
func BytesOf(message []byte, want protowire.Number) (found []byte) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return found
		}
		value := message[n:]
		size := protowire.ConsumeFieldValue(field, kind, value)
		if size < 0 {
			return found
		}
		if field == want && kind == protowire.BytesType {
			found, _ = protowire.ConsumeBytes(value)
		}
		message = value[size:]
	}
	return found
}

// Duration reads a google.protobuf.Duration; what is none is 0.
func Duration(message []byte) time.Duration {
	var out time.Duration
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return 0
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(field, kind, message)
		if size < 0 {
			return 0
		}
		if kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(message)
			switch field {
			case 1:
				out += time.Duration(min(v, 86_400)) * time.Second
			case 2:
				out += time.Duration(min(v, 999_999_999))
			}
		}
		message = message[size:]
	}
	return out
}
