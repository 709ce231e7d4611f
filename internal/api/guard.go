package api

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// guard asks for the token, bounds the body, and refuses what a page in a browser on this machine could be made to
// send: a request by a name that is not ours, or from a page of another site.
func (h *handler) guard(next http.Handler) http.Handler {
	return h.ours(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if foreign(r) {
			fail(w, http.StatusForbidden, "the request comes from a page of another site")
			return
		}
		r, ok := h.allowed(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "the request carries no valid token")
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// ours refuses a request by a name that is not ours: a page of another site whose name was made to lead here could read
// the answer.
func (h *handler) ours(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if !h.c.guarded() && !Loopback(hostOf(r.Host)) {
			fail(w, http.StatusMisdirectedRequest,
				"this server answers on loopback only: ask it by 127.0.0.1, [::1] or localhost")
			return
		}
		most := int64(1)
		if r.Method == http.MethodPost {
			most = maxDefinition
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		next.ServeHTTP(w, r)
	})
}

// foreign tells whether a browser sent the request for a page of another origin. Another port of this machine is
// another origin: it is another program. Clients that are no browsers send neither header.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return true
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	return false
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// maxHeavy is how many requests of one kind that hold much memory are answered at a time.
const maxHeavy = 4

// room bounds the requests of one kind.
type room chan struct{}

func newRoom(n int) room { return make(room, n) }

// bound refuses a request while the room is full.
func (m room) bound(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case m <- struct{}{}:
			defer func() { <-m }()
			next(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			fail(w, http.StatusServiceUnavailable, "too many requests of this kind at a time: try again")
		}
	}
}
