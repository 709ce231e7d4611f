package influx

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/wiretest"
	"github.com/rota-run/rota/publish/publishtest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{Open: func(t *testing.T, s *publishtest.Script) publish.Sink {
		sink, err := New(Options{Bucket: "b", Org: "o", Token: publishtest.Secret,
			Transport: s.Transport(func(r *http.Request, body []byte) (int, []byte) {
				if got, want := r.URL.String(), "http://127.0.0.1:8086/api/v2/write?bucket=b&org=o&precision=ms"; got != want {
					t.Errorf("address %s, want %s", got, want)
				}
				for line := range strings.Lines(string(body)) {
					l := parse(t, line)
					s.Take(l.name, l.value)
				}
				return http.StatusNoContent, nil
			})})
		must.Succeed(t, err)
		return sink
	}})
}

// parsed is a line as a server reads it.
type parsed struct {
	name  string
	tags  map[string]string
	value float64
	at    string
}

// cut splits text at the first of the separators that has no backslash before it, and takes away the backslashes before
// special characters.
func cut(text, separators string) (head, tail string, by byte) {
	var out []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && strings.IndexByte(",= ", text[i+1]) >= 0:
			i++
			out = append(out, text[i])
		case strings.IndexByte(separators, c) >= 0:
			return string(out), text[i+1:], c
		default:
			out = append(out, c)
		}
	}
	return string(out), "", 0
}

func parse(t *testing.T, line string) parsed {
	t.Helper()
	p := parsed{tags: map[string]string{}}
	line, ok := strings.CutSuffix(line, "\n")
	var by byte
	p.name, line, by = cut(line, ", ")
	for by == ',' {
		var key string
		key, line, _ = cut(line, "=")
		p.tags[key], line, by = cut(line, ", ")
	}
	var field string
	field, p.at, _ = strings.Cut(line, " ")
	text, isValue := strings.CutPrefix(field, "value=")
	v, err := strconv.ParseFloat(text, 64)
	if _, wrong := strconv.ParseInt(p.at, 10, 64); !ok || !isValue || err != nil || wrong != nil || p.name == "" {
		t.Errorf("not a line: %q", line)
	}
	p.value = v
	return p
}

func TestLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    publish.Sample
		want string
	}{
		{publish.Sample{Name: "load", Tags: map[string]string{"b": "2", "a": "1"},
			Points: []publish.Point{{AtMS: 5, Value: 0.5}, {AtMS: 6, Value: 1e21}}},
			"load,a=1,b=2 value=0.5 5\nload,a=1,b=2 value=1e+21 6\n"},
		{publish.Sample{Name: "a b,c=d", Tags: map[string]string{"k =,": "v =,"},
			Points: []publish.Point{{AtMS: -1, Value: -3}}}, `a\ b\,c=d,k\ \=\,=v\ \=\, value=-3 -1` + "\n"},
		{publish.Sample{Name: "a", Tags: map[string]string{"path": `C:\dir\`, "x": `a\ b\\,c`, "empty": "", "": "x"},
			Points: []publish.Point{{}}}, `a,path=C:\dir,x=a\ b\,c value=0 0` + "\n"},
		{publish.Sample{Name: "a\r\nb", Tags: map[string]string{"t": "x\ty"}, Points: []publish.Point{{}}},
			`a\r\nb,t=x\ty value=0 0` + "\n"},
		{publish.Sample{Name: "a\xff", Points: []publish.Point{{AtMS: 1, Value: math.NaN()}, {AtMS: 2, Value: 1},
			{AtMS: 3, Value: math.Inf(-1)}}}, "a\ufffd value=1 2\n"},
	} {
		got, err := appendSample(nil, c.s)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v:\n%s%v, want\n%s", c.s, got, err, c.want)
		}
	}
	for _, s := range []publish.Sample{{}, {Name: "#a", Points: []publish.Point{{}}},
		{Name: `\`, Points: []publish.Point{{}}}, {Name: "a"},
		{Name: "a", Points: []publish.Point{{Value: math.NaN()}}}} {
		if got, err := appendSample(nil, s); err == nil || len(got) > 0 {
			t.Errorf("%+v: got %s, want an error", s, got)
		}
	}
}

// FuzzLines: one line per point, and what a server reads is what was written, but for what the format cannot hold.
func FuzzLines(f *testing.F) {
	f.Add("a", "k", "v", 1.0)
	f.Add(`a\ b`, `k\`, "v\\\\,\n=\x00\xff", 1e-300)
	f.Fuzz(func(t *testing.T, name, key, value string, v float64) {
		got, err := appendSample(nil, publish.Sample{Name: name, Tags: map[string]string{key: value, "zz": "end"},
			Points: []publish.Point{{AtMS: 7, Value: v}}})
		if err != nil {
			return
		}
		p := parse(t, string(got))
		if strings.Count(string(got), "\n") != 1 || p.value != v || p.at != "7" || key != "zz" &&
			p.tags["zz"] != "end" {
			t.Errorf("%q of %q %q %q: %+v", got, name, key, value, p)
		}
		if !strings.ContainsAny(name+key+value, "\\\n\r\t") && utf8.ValidString(name) && utf8.ValidString(key) &&
			utf8.ValidString(value) && key != "" && key != "zz" && value != "" &&
			(p.name != name || p.tags[key] != value || len(p.tags) != 2) {
			t.Errorf("%q of %q %q %q: %+v", got, name, key, value, p)
		}
	})
}

func TestVersion1AndWhatIsMissing(t *testing.T) {
	t.Parallel()
	var asked string
	script := wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String() + " " + r.Header.Get("Authorization")
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Header: http.Header{}}, nil
	})
	s, err := New(Options{Database: "d b", Retention: "year", User: "ann", Password: "pw", Transport: script})
	must.Succeed(t, err)
	out := s.Send(t.Context(), []publish.Sample{{Name: "a", Points: []publish.Point{{AtMS: 1, Value: 2}}},
		{Name: "no points"}})
	if out.Refused != 1 || len(out.Retry) != 0 || out.Err == nil || !strings.Contains(out.Err.Error(), "no points") {
		t.Errorf("%+v", out)
	}
	if want := "http://127.0.0.1:8086/write?db=d+b&precision=ms&rp=year Basic YW5uOnB3"; asked != want {
		t.Errorf("got %s, want %s", asked, want)
	}
	for _, o := range []Options{{}, {Bucket: "a", Database: "b"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
