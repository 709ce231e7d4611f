package kafka

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// part is what the key of a partition of the task says. A topic's name has neither "/" nor "@" in it.
type part struct {
	topic   string
	watches bool  // "orders" or "orders@12": it looks for partitions
	first   int32 // the first partition that it looks for
	number  int32 // "orders/7": it consumes this one
}

// longestTopic is Kafka's limit.
const longestTopic = 249

func parsePart(key string) (p part, err error) {
	topic, rest := key, ""
	at := strings.IndexAny(key, "/@")
	if at >= 0 {
		topic, rest = key[:at], key[at+1:]
	}
	p = part{topic: topic, watches: at < 0 || key[at] == '@'}
	if !validTopic(topic) {
		return p, fmt.Errorf("the key %q names no topic: it has 1 to %d letters, digits, '.', '_' and '-'", key,
			longestTopic)
	}
	if at < 0 {
		return p, nil
	}
	n, err := strconv.ParseUint(rest, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != rest {
		return p, fmt.Errorf("the key %q names no partition: want a topic alone", key)
	}
	if p.watches {
		p.first = int32(n)
	} else {
		p.number = int32(n)
	}
	return p, nil
}

func validTopic(name string) bool {
	if name == "" || len(name) > longestTopic || name == "." || name == ".." {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

func (p part) key() string {
	switch {
	case !p.watches:
		return p.topic + "/" + strconv.Itoa(int(p.number))
	case p.first == 0:
		return p.topic
	}
	return p.topic + "@" + strconv.Itoa(int(p.first))
}

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
