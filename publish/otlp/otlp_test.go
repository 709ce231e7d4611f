package otlp

import (
	"net/http"
	"testing"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/wiretest"
	"github.com/rota-run/rota/publish/publishtest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{Open: func(t *testing.T, s *publishtest.Script) publish.Sink {
		return New(Options{Token: publishtest.Secret, Transport: s.Transport(func(r *http.Request, body []byte) (int, []byte) {
			if r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/x-protobuf" {
				t.Errorf("%s of %s", r.URL.Path, r.Header.Get("Content-Type"))
			}
			wiretest.Points(body, s.Take)
			return http.StatusOK, nil
		})})
	}})
}
