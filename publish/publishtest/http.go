package publishtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Transport is a fake server that speaks HTTP. take decodes a request and notes what is in it, and returns the status and the body of the answer. Where it
// refuses, it repeats the login in its answer, as servers have been seen to do.
func (s *Script) Transport(take func(r *http.Request, body []byte) (int, []byte)) http.RoundTripper {
	return transport{s, take}
}

type transport struct {
	s    *Script
	take func(r *http.Request, body []byte) (int, []byte)
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	m := t.s.Mood()
	if err := t.s.Meet(r.Context(), m); err != nil {
		return nil, err
	}
	if r.URL.Scheme != "http" || !strings.Contains(r.Header.Get("Authorization"), Secret) {
		return nil, fmt.Errorf("a request by %s with the login %q", r.URL.Scheme, r.Header.Get("Authorization"))
	}
	switch m {
	case Refuse:
		return answer(r, http.StatusBadRequest, nil, "bad request of "+r.Header.Get("Authorization")+"\nthe end"), nil
	case Expel:
		return answer(r, http.StatusForbidden, nil, "not allowed: "+r.Header.Get("Authorization")), nil
	case Busy:
		return answer(r, http.StatusTooManyRequests, http.Header{"Retry-After": {strconv.Itoa(int(t.s.Wait().Seconds()))}}, "busy"), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, text := t.take(r, body)
	if m == Lose {
		return nil, errors.New("connection reset")
	}
	return answer(r, status, nil, string(text)), nil
}

func answer(r *http.Request, status int, h http.Header, body string) *http.Response {
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}
