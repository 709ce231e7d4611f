package elastic

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/post"
)

// Options say where samples go.
type Options struct {
	Servers  []string // host:port; default 127.0.0.1:9200
	Target   string   // a data stream, an index or an alias
	APIKey   string
	User     string
	Password string
	TLS      *tls.Config // nil: no encryption
	// Transport is for tests; default: one with bounded connections.
	Transport http.RoundTripper
}

// DefaultServer is where a server is on one's own machine.
const DefaultServer = "127.0.0.1:9200"

// Batch is a good publish.Options.Batch: a server syncs its log to disk for each request.
const Batch = 2000

// target is what servers take as a name.
var target = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)

type sink struct {
	post.Sink
	explain string // the path of a request whose answer has each document
}

// What is asked for of an answer. It is short while all is well: an item for each document costs the server and the
// client more than the documents.
const (
	briefly = "?filter_path=errors"
	inFull  = "?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason"
)

// New returns a sink; nothing is connected yet.
func New(o Options) (publish.Sink, error) {
	if !target.MatchString(o.Target) {
		return nil, fmt.Errorf("elastic: %q is not the name of a data stream or index: use a-z, 0-9, . _ and -",
			o.Target)
	}
	path := "/" + o.Target + "/_bulk"
	c := post.New(post.Options{
		Servers: o.Servers, Default: DefaultServer, TLS: o.TLS, User: o.User, Password: o.Password, Scheme: "ApiKey",
		Token:     o.APIKey,
		Transport: o.Transport, Path: path + briefly,
	})
	s := &sink{post.Sink{Client: c, Type: contentType, Append: appendSample}, path + inFull}
	s.Judge = s.judge
	return s, nil
}

const contentType = "application/x-ndjson"

// judge asks for an answer about each document, if one was not taken: what is there already says so, and is not there
// twice.
func (s *sink) judge(ctx context.Context, batch []publish.Sample, body []byte, a post.Answer) publish.Outcome {
	if hasErrors(a.Body) {
		var err error
		if a, err = s.PostTo(ctx, s.explain, contentType, body); err != nil || !a.Good() {
			return s.Outcome(batch, a, err)
		}
	}
	return judge(batch, a.Body, s.Text)
}

// reply is the answer to a bulk request. Of the items only what failed is asked for in full.
type reply struct {
	Errors bool `json:"errors"`
	Items  []struct {
		Create item `json:"create"`
	} `json:"items"`
}

type item struct {
	Status int `json:"status"`
	Error  struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	} `json:"error"`
}

func (i item) good() bool { return i.Status/100 == 2 || i.Status == http.StatusConflict }

var errShort = errors.New("the answer has another number of items than the request")

// hasErrors reports whether a good answer says that a document was not taken.
func hasErrors(body []byte) bool {
	var r reply
	return json.Unmarshal(body, &r) == nil && r.Errors
}

// judge says what became of each sample: it was sent when each of its points was, and is sent again when one of them
// may be taken later.
func judge(batch []publish.Sample, body []byte, say func([]byte) string) publish.Outcome {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return publish.RetryAll(batch, 0, fmt.Errorf("the answer is not that of a bulk request: %s", say(body)))
	}
	if !r.Errors {
		return publish.Outcome{}
	}
	points := 0
	for _, s := range batch {
		points += len(s.Points)
	}
	if points != len(r.Items) {
		return publish.RetryAll(batch, 0, errShort)
	}
	out := publish.Outcome{Login: true}
	for _, s := range batch {
		retry, refused := false, false
		for range s.Points {
			i := r.Items[0].Create
			r.Items = r.Items[1:]
			if i.good() {
				continue
			}
			out.Err = fmt.Errorf("a document: status %d: %s", i.Status, say([]byte(i.Error.Type+": "+i.Error.Reason)))
			out.Login = out.Login && post.Login(i.Status) // also an index without room, which the server makes read-only
			retry, refused = retry || post.Passing(i.Status), true
		}
		switch {
		case retry:
			out.Retry = append(out.Retry, s)
		case refused:
			out.Refused++
		}
	}
	return out
}

var errPoints = errors.New("it has no points")

// appendSample writes an action and a document for each point.
func appendSample(to []byte, s publish.Sample) ([]byte, error) {
	if len(s.Points) == 0 {
		return to, errPoints
	}
	name, err := json.Marshal(s.Name)
	if err != nil {
		return to, err
	}
	tags := []byte("{}")
	if len(s.Tags) > 0 {
		if tags, err = json.Marshal(s.Tags); err != nil { // sorted
			return to, err
		}
	}
	series := s.Series()
	for _, p := range s.Points {
		to = append(to, `{"create":{"_id":"`...)
		to = append(to, id(series, p.AtMS)...)
		to = append(to, `"}}`+"\n"+`{"@timestamp":`...)
		to = strconv.AppendInt(to, p.AtMS, 10)
		to = append(to, `,"name":`...)
		to = append(to, name...)
		to = append(to, `,"value":`...)
		to = appendValue(to, p.Value)
		to = append(to, `,"tags":`...)
		to = append(to, tags...)
		to = append(to, "}\n"...)
	}
	return to, nil
}

// appendValue writes a number; null where it is not finite.
func appendValue(to []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(to, "null"...)
	}
	return strconv.AppendFloat(to, v, 'g', -1, 64)
}

// id is the time, 48 bits, and 72 bits of a hash: no two points of one index have the same one by chance. It begins
// with the time because a server looks for the _id of a new document in what it has: it looks in few places for one
// that sorts behind the others.
func id(series string, atMS int64) string {
	var raw [15]byte
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(atMS))
	copy(raw[:6], at[2:])
	sum := sha256.Sum256([]byte(series))
	copy(raw[6:], sum[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}
