package api

import (
	"encoding/json"
	"iter"
	"net/http"
)

// Fault is the body of an answer that is an error.
type Fault struct {
	Error string `json:"error"`
}

func fail(w http.ResponseWriter, code int, message string) { write(w, code, Fault{message}) }

func answer(w http.ResponseWriter, v any) { write(w, http.StatusOK, v) }

func write(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n')) // the client may have gone; nobody is left to tell
}

func text(w http.ResponseWriter, code int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(s))
}

// maxTurns is how many answers are encoded at a time: a flood of requests must not take the processor from the member's own work.
const maxTurns = 2

// chunk is how much of a list is encoded before it is sent.
const chunk = 16 << 10

// stream sends a list element by element. It encodes only while it has one of the handler's turns, and sends without: a slow reader keeps
// neither the list nor a turn.
func stream[E any](h *handler, w http.ResponseWriter, r *http.Request, items iter.Seq[E]) {
	w.Header().Set("Content-Type", "application/json")
	buf := []byte{'['}
	if !h.take(r) {
		return
	}
	first := true
	for item := range items {
		b, err := json.Marshal(item)
		if err != nil {
			<-h.turns
			panic(http.ErrAbortHandler) // the list must not look complete
		}
		if !first {
			buf = append(buf, ',')
		}
		first, buf = false, append(buf, b...)
		if len(buf) < chunk {
			continue
		}
		<-h.turns
		if _, err := w.Write(buf); err != nil || !h.take(r) {
			return
		}
		buf = buf[:0]
	}
	<-h.turns
	_, _ = w.Write(append(buf, ']', '\n')) // the client may have gone
}

// take waits for a turn, unless the client goes away.
func (h *handler) take(r *http.Request) bool {
	select {
	case h.turns <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}
