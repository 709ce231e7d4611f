package guardian

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rota-run/rota/tasks/program"
)

// message is what the parent tells. Each is one packet; the file of a session goes with it.
type message struct {
	Place    string        `json:"place,omitempty"` // the first message: where the store is
	Programs program.Place `json:"programs,omitzero"`
	Guard    uint64        `json:"guard,omitempty"`   // the number of a session to end
	Key      string        `json:"key,omitempty"`     // its key
	Release  uint64        `json:"release,omitempty"` // the number of a session that the parent ends itself
	Dismiss  bool          `json:"dismiss,omitempty"` // there is nothing left to guard
}

// maxMessage is more than any key needs.
const maxMessage = 64 << 10

func (m message) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err == nil && len(b) > maxMessage {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("tell the guardian: %w", err)
	}
	return b, nil
}

// ward is what the child knows of its parent.
type ward struct {
	place     string
	programs  program.Place
	sessions  map[uint64]string // keys
	dismissed bool
}

// take takes in a message. What cannot be read is passed over: a guardian does only what it was told.
func (w *ward) take(packet []byte) (guard, release uint64) {
	var m message
	if json.Unmarshal(packet, &m) != nil {
		return 0, 0
	}
	if m.Place != "" || m.Programs != (program.Place{}) {
		w.place, w.programs = m.Place, m.Programs
	}
	if w.sessions == nil {
		w.sessions = make(map[uint64]string)
	}
	if m.Guard != 0 {
		w.sessions[m.Guard] = m.Key
	}
	delete(w.sessions, m.Release)
	w.dismissed = w.dismissed || m.Dismiss
	return m.Guard, m.Release
}
