package remotewrite

import (
	"cmp"
	"crypto/tls"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/post"
)

// Options say where samples go.
type Options struct {
	Servers  []string // host:port; default 127.0.0.1:9090
	Path     string   // default api/v1/write
	Token    string   // a bearer token
	User     string
	Password string
	TLS      *tls.Config // nil: no encryption
	// Transport is for tests; default: one with bounded connections.
	Transport http.RoundTripper
}

// DefaultServer is where Prometheus is on one's own machine.
const DefaultServer = "127.0.0.1:9090"

// New returns a sink; nothing is connected yet.
func New(o Options) publish.Sink {
	c := post.New(post.Options{
		Servers: o.Servers, Default: DefaultServer, TLS: o.TLS, User: o.User, Password: o.Password, Scheme: "Bearer",
		Token:     o.Token,
		Transport: o.Transport, Path: "/" + strings.TrimPrefix(cmp.Or(o.Path, "api/v1/write"), "/"),
		Header: http.Header{"Content-Encoding": {"snappy"}, "X-Prometheus-Remote-Write-Version": {"0.1.0"}},
	})
	snappy := func(body []byte) []byte { return s2.EncodeSnappy(nil, body) }
	return &post.Sink{Client: c, Type: "application/x-protobuf", Append: appendSeries, Whole: snappy}
}

var (
	errPoints = errors.New("it has no points")
	errUTF8   = errors.New("a tag is not UTF-8")
	errName   = errors.New("it has no name")
)

// The numbers of fields of the messages of remote write 1.0.
const (
	requestSeries = 1 // WriteRequest
	seriesLabels  = 1 // TimeSeries
	seriesSamples = 2
	labelName     = 1 // Label
	labelValue    = 2
	sampleValue   = 1 // Sample
	sampleTime    = 2
)

const nameLabel = "__name__"

func appendMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}

func appendText(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), text)
}

// clean makes a name of a metric or label of a text.
func clean(text string, colon bool) string {
	out := []byte(text)
	for i, c := range out {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || colon && c == ':'
		if !letter && (c < '0' || c > '9') {
			out[i] = '_'
		}
	}
	if len(out) > 0 && '0' <= out[0] && out[0] <= '9' {
		return "_" + string(out)
	}
	return string(out)
}

// labels are those of a sample by their names.
func labels(s publish.Sample) (map[string]string, error) {
	all := make(map[string]string, len(s.Tags)+1)
	for _, k := range slices.Sorted(maps.Keys(s.Tags)) {
		switch v := s.Tags[k]; {
		case !utf8.ValidString(v):
			return nil, errUTF8
		case v != "" && k != "":
			all[clean(k, false)] = v
		}
	}
	all[nameLabel] = clean(s.Name, true)
	if s.Name == "" {
		return nil, errName
	}
	return all, nil
}

// appendSeries writes a sample as a series of a request.
func appendSeries(to []byte, s publish.Sample) ([]byte, error) {
	if len(s.Points) == 0 {
		return to, errPoints
	}
	all, err := labels(s)
	if err != nil {
		return to, err
	}
	var series []byte
	for _, k := range slices.Sorted(maps.Keys(all)) {
		series = appendMessage(series, seriesLabels, appendText(appendText(nil, labelName, k), labelValue, all[k]))
	}
	for _, p := range s.Points {
		var point []byte
		point = protowire.AppendTag(point, sampleValue, protowire.Fixed64Type)
		point = protowire.AppendFixed64(point, math.Float64bits(p.Value))
		point = protowire.AppendTag(point, sampleTime, protowire.VarintType)
		point = protowire.AppendVarint(point, uint64(p.AtMS)) //nolint:gosec // as protobuf has it: two's complement
		series = appendMessage(series, seriesSamples, point)
	}
	return appendMessage(to, requestSeries, series), nil
}
