package guardian

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rota-run/rota/node/guardian/ward"
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

// charge is what the child knows of its parent.
type charge struct {
	ward.Ward
	place    string
	programs program.Place
}

// take takes in a message. What cannot be read is passed over: a guardian does only what it was told.
func (c *charge) take(packet []byte) (guard, release uint64) {
	var m message
	if json.Unmarshal(packet, &m) != nil {
		return 0, 0
	}
	if m.Place != "" || m.Programs != (program.Place{}) {
		c.place, c.programs = m.Place, m.Programs
	}
	if m.Guard != 0 {
		c.Ward = c.Guard(ward.Held[string]{ID: m.Guard, Key: m.Key})
	}
	if m.Release != 0 {
		c.Ward = c.Ward.Release(m.Release)
	}
	if m.Dismiss {
		c.Ward = c.Ward.Dismiss()
	}
	return m.Guard, m.Release
}
