package stage

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Letter is a dead letter: a segment on which a function failed too often, or a message that could not be worked on as a whole.
type Letter struct {
	Error     string `json:"error"`
	Delivered int    `json:"delivered"`         // how often the message was delivered
	Edge      string `json:"edge"`              // where it came from
	Shard     int    `json:"shard"`             //
	Member    string `json:"member"`            // that gave it up
	Text      string `json:"text,omitempty"`    // the segment, if it is text
	Data      []byte `json:"data,omitempty"`    // the segment, if it is not
	Batch     bool   `json:"batch,omitempty"`   // Data are the segments of a whole message
	Segments  int    `json:"segments,omitzero"` // how many
}

// maxError is how much of an error a letter keeps.
const maxError = 2000

func newLetter(segment []byte, cause error) Letter {
	l := Letter{Error: fmt.Sprintf("%.*s", maxError, cause.Error()), Segments: 1}
	if utf8.Valid(segment) {
		l.Text = string(segment)
	} else {
		l.Data = segment
	}
	return l
}

// Message is the segment, or the segments, as the data of a message.
func (l *Letter) Message() []byte {
	switch {
	case l.Batch:
		return l.Data
	case len(l.Data) > 0:
		return AppendSegment(nil, l.Data)
	}
	return AppendSegment(nil, []byte(l.Text))
}

// ReadLetter reads a message of dead letters.
func ReadLetter(data []byte) (Letter, error) {
	var l Letter
	if err := json.Unmarshal(data, &l); err != nil {
		return Letter{}, fmt.Errorf("read a dead letter: %w", err)
	}
	return l, nil
}
