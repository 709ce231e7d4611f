package otlp

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/wiretest"
	"github.com/rota-run/rota/publish/publishtest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{Open: func(t *testing.T, s *publishtest.Script) publish.Sink {
		return New(Options{Token: publishtest.Secret,
			Transport: s.Transport(func(r *http.Request, body []byte) (int, []byte) {
				if r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
					strings.Count(string(body), "rota") != 2 { // the service and the scope
					t.Errorf("%s of %s: %q", r.URL.Path, r.Header.Get("Content-Type"), body)
				}
				wiretest.Points(body, s.Take)
				return http.StatusOK, nil
			})})
	}})
}

// TestAPartIsRejected: a good answer may say so, and the request says whose points they are.
func TestAPartIsRejected(t *testing.T) {
	t.Parallel()
	s := New(Options{Service: "checkout", Path: "/v2", Transport: wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), "checkout") || r.URL.Path != "/v2" {
			t.Errorf("%s: %q, %v", r.URL.Path, b, err)
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("\x0a\x02\x08\x01")),
			Request: r}, nil
	})})
	points := []publish.Point{{AtMS: 1}}
	if out := s.Send(t.Context(), []publish.Sample{{Name: "a", Points: points},
		{Name: "b", Points: points}}); out.Refused != 1 || out.Err == nil {
		t.Errorf("%+v", out)
	}
}
