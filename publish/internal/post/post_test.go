package post_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/publish/internal/post"
	"github.com/rota-run/rota/publish/internal/wiretest"
)

// TestAnEndlessAnswerIsCut: a server that never ends its answer is left after 32 MiB, and the next one is asked.
func TestAnEndlessAnswerIsCut(t *testing.T) {
	t.Parallel()
	part := make([]byte, 1<<20)
	var sent atomic.Int64 // MiB
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 200 {
			if _, err := w.Write(part); err != nil {
				return
			}
			sent.Add(1)
		}
	}))
	defer endless.Close()
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
	}))
	defer good.Close()
	c := post.New(post.Options{Servers: []string{strings.TrimPrefix(endless.URL, "http://"),
		strings.TrimPrefix(good.URL, "http://")}, Path: "/"})
	defer c.Close()
	if _, err := c.Post(t.Context(), "text/plain", nil); err == nil ||
		!strings.Contains(err.Error(), "more than 33554432 bytes") {
		t.Errorf("an endless answer: %v", err)
	}
	if n := sent.Load(); n > 100 {
		t.Errorf("%d MiB of the answer were taken", n)
	}
	if a, err := c.Post(t.Context(), "text/plain", nil); err != nil || !a.Good() || a.Wait.Seconds() != 3 {
		t.Errorf("the next server: %+v, %v", a, err)
	}
}

// TestAServerThatFailsIsLeft: after a status of its own fault the next server is asked; a refusal is no reason to
// leave, and nobody else is asked where it says so. What an answer repeats of the login is not in an error, with a
// password or without, nor a part of it.
func TestAServerThatFailsIsLeft(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("hush-", 400) // as long as tokens of some issuers
	var asked []string
	statuses := []int{http.StatusServiceUnavailable, http.StatusForbidden, http.StatusFound, http.StatusOK}
	c := post.New(post.Options{
		Servers: []string{"a:1", "b:1"}, Path: "/", Header: http.Header{"Authorization": {"Bearer " + secret}},
		Transport: wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Host)
			body := io.NopCloser(strings.NewReader(strings.Repeat("x", 188) + " " + r.Header.Get("Authorization")))
			return &http.Response{StatusCode: statuses[len(asked)-1], Header: http.Header{"Location": {"http://c:1/"}},
				Body: body, Request: r}, nil
		}),
	})
	for i, status := range statuses {
		a, err := c.Post(t.Context(), "text/plain", nil)
		if err != nil || a.Status != status || a.Good() != (status == http.StatusOK) {
			t.Errorf("request %d: %+v, %v", i, a, err)
		}
		if err := c.Fault(a); err == nil || strings.Contains(err.Error(), secret[:3]) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if got := strings.Join(asked, " "); got != "a:1 b:1 b:1 b:1" {
		t.Errorf("asked %s", got)
	}
}
