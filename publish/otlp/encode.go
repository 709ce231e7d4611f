package otlp

import (
	"errors"
	"maps"
	"math"
	"slices"
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
	requestResourceMetrics = 1 // ExportMetricsServiceRequest
	resourceResource       = 1 // ResourceMetrics
	resourceScopeMetrics   = 2
	resourceAttributes     = 1 // Resource
	scopeScope             = 1 // ScopeMetrics
	scopeMetrics           = 2
	scopeName              = 1 // InstrumentationScope
	metricName             = 1 // Metric
	metricGauge            = 5
	gaugePoints            = 1 // Gauge
	pointTime              = 3 // NumberDataPoint
	pointDouble            = 4
	pointAttributes        = 7
	pointFlags             = 8
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

// appendMetric writes a sample as a metric of a scope.
func appendMetric(to []byte, s publish.Sample) ([]byte, error) {
	if len(s.Points) == 0 {
		return to, errPoints
	}
	good := utf8.ValidString(s.Name)
	var attributes []byte
	for _, k := range slices.Sorted(maps.Keys(s.Tags)) {
		good = good && utf8.ValidString(k) && utf8.ValidString(s.Tags[k])
		attributes = appendAttribute(attributes, pointAttributes, k, s.Tags[k])
	}
	if !good {
		return to, errUTF8
	}
	var gauge []byte
	for _, p := range s.Points {
		var point []byte
		point = protowire.AppendTag(point, pointTime, protowire.Fixed64Type)
		point = protowire.AppendFixed64(point, uint64(max(p.AtMS, 0))*1_000_000)
		if math.IsNaN(p.Value) {
			point = protowire.AppendTag(point, pointFlags, protowire.VarintType)
			point = protowire.AppendVarint(point, noRecordedValue)
		} else {
			point = protowire.AppendTag(point, pointDouble, protowire.Fixed64Type)
			point = protowire.AppendFixed64(point, math.Float64bits(p.Value))
		}
		gauge = appendMessage(gauge, gaugePoints, append(point, attributes...))
	}
	metric := appendText(nil, metricName, s.Name)
	return appendMessage(to, scopeMetrics, appendMessage(metric, metricGauge, gauge)), nil
}

// request wraps the metrics of a batch.
func request(metrics []byte, service string) []byte {
	scope := appendMessage(nil, scopeScope, appendText(nil, scopeName, "rota"))
	resource := appendMessage(nil, resourceResource, appendAttribute(nil, resourceAttributes, "service.name", service))
	return appendMessage(nil, requestResourceMetrics, appendMessage(resource, resourceScopeMetrics, append(scope, metrics...)))
}

// rejected reads the partial success of an answer: how many points were rejected, and why.
func rejected(answer []byte) (points uint64, why string) {
	partial := bytesOf(answer, 1)
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

// bytesOf is the field of a message that is bytes; nil where there is none.
func bytesOf(message []byte, want protowire.Number) (found []byte) {
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
