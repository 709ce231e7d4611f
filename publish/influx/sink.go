package influx

import (
	"crypto/tls"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/post"
)

// Options say where samples go. Bucket or Database is needed.
type Options struct {
	Servers  []string // host:port; default 127.0.0.1:8086
	Org      string   // of InfluxDB 2
	Bucket   string   // of InfluxDB 2 and 3
	Database string   // of InfluxDB 1
	// Retention is a retention policy of InfluxDB 1; "" for its default.
	Retention string
	// Token is for InfluxDB 2 and 3; User and Password for 1.
	Token, User, Password string
	TLS                   *tls.Config       // nil: no encryption
	Transport             http.RoundTripper // default: one with bounded connections
}

// DefaultServer is where InfluxDB is on one's own machine.
const DefaultServer = "127.0.0.1:8086"

// New returns a sink; nothing is connected yet.
func New(o Options) (publish.Sink, error) {
	if (o.Bucket == "") == (o.Database == "") {
		return nil, errors.New("influx needs either a bucket (InfluxDB 2 and 3) or a database (InfluxDB 1)")
	}
	p := post.Options{
		Servers: o.Servers, Default: DefaultServer, TLS: o.TLS, User: o.User, Password: o.Password, Scheme: "Token",
		Token:     o.Token,
		Transport: o.Transport, Path: "/api/v2/write?",
	}
	query := url.Values{"precision": {"ms"}}
	set := func(key, value string) {
		if value != "" {
			query.Set(key, value)
		}
	}
	if o.Database != "" {
		p.Path = "/write?"
	}
	set("org", o.Org)
	set("bucket", o.Bucket)
	set("db", o.Database)
	set("rp", o.Retention)
	p.Path += query.Encode()
	return &post.Sink{Client: post.New(p), Type: "text/plain; charset=utf-8", Append: appendSample}, nil
}

var (
	errName   = errors.New("the line protocol has no place for such a name")
	errPoints = errors.New("none of its points is finite")
)

// appendSample writes a line for each point of a sample.
func appendSample(to []byte, s publish.Sample) ([]byte, error) {
	name := escape(s.Name, ", ")
	if name == "" || name[0] == '#' {
		return to, errName
	}
	series := name
	for _, k := range slices.Sorted(maps.Keys(s.Tags)) {
		key, value := escape(k, ",= "), escape(s.Tags[k], ",= ")
		if key != "" && value != "" {
			series += "," + key + "=" + value
		}
	}
	before := len(to)
	for _, p := range s.Points {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			continue
		}
		to = append(to, series...)
		to = append(to, " value="...)
		to = strconv.AppendFloat(to, p.Value, 'g', -1, 64)
		to = append(to, ' ')
		to = strconv.AppendInt(to, p.AtMS, 10)
		to = append(to, '\n')
	}
	if len(to) == before {
		return to, errPoints
	}
	return to, nil
}

// escape puts a backslash before each of the special characters. A backslash of the text's own before one of them, or
// at the end, would take away the meaning of the one that is put there, or of the character that follows the text: it
// is left out.
func escape(text, special string) string {
	if !strings.ContainsAny(text, special+"\\\n\r\t") && text == strings.ToValidUTF8(text, "") {
		return text
	}
	text = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(strings.ToValidUTF8(text, "\ufffd"))
	out := make([]byte, 0, len(text)+8)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\\' && strings.Trim(text[i:], `\`) == "":
			return string(out)
		case c == '\\' && strings.IndexByte(special, strings.TrimLeft(text[i:], `\`)[0]) >= 0:
		case strings.IndexByte(special, c) >= 0:
			out = append(out, '\\', c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
