package kafka

import (
	"encoding/json"
	"errors"
	"fmt"
)

// position is how far a partition was consumed. It is written as JSON.
type position struct {
	Offset int64  `json:"offset"` // of the record to consume next
	Epoch  int32  `json:"epoch"`  // of the leader that wrote the record before it; -1: not known
	Topic  string `json:"topic_id,omitempty"`
}

func (p position) encode() ([]byte, error) { return json.Marshal(p) }

// decodePosition returns nil where nothing was saved.
func decodePosition(data []byte) (*position, error) {
	if data == nil {
		return nil, nil
	}
	p := position{Epoch: -1}
	err := json.Unmarshal(data, &p)
	if err == nil && p.Offset < 0 {
		err = errors.New("the offset is negative")
	}
	if err != nil {
		return nil, fmt.Errorf("decode the saved position %.100q: %w", data, err)
	}
	return &p, nil
}
